/** The page of a server: all runs, some of them, a job that goes on, or a new one. */

import { useEffect, useState } from "preact/hooks";

import type { Palette } from "../data";
import { useTheme } from "../theme";
import { Home } from "./Home";
import { JobView } from "./JobView";
import { NewRun } from "./NewRun";
import { RunsView } from "./RunsView";
import { hashOf, routeOf } from "./route";
import "./serve.css";

export function Served({ palette }: { palette: Palette }) {
  const [hash, setHash] = useState(location.hash);
  const route = routeOf(hash);
  useTheme();
  useEffect(() => {
    const follow = () => setHash(location.hash);
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  useEffect(() => {
    if (route.at === "home") document.title = "anabranch: runs";
    if (route.at === "new") document.title = "anabranch: new run";
  }, [route.at]);
  /** Changes the address without a step for the back button. */
  const replace = (to: string) => {
    history.replaceState(null, "", to);
    setHash(to);
  };

  return (
    <>
      <nav class="places" aria-label="places">
        <a
          href={hashOf({ at: "home", filter: "", chosen: [] })}
          aria-current={route.at === "home" ? "page" : undefined}
        >
          runs
        </a>
        <a href={hashOf({ at: "new", origin: "" })} aria-current={route.at === "new" ? "page" : undefined}>
          new run
        </a>
      </nav>
      {route.at === "home" ? <Home route={route} replace={replace} /> : null}
      {route.at === "runs" ? <RunsView key={route.ids.join()} ids={route.ids} palette={palette} /> : null}
      {route.at === "job" ? <JobView key={route.id} id={route.id} palette={palette} replace={replace} /> : null}
      {route.at === "new" ? <NewRun key={route.origin} origin={route.origin} /> : null}
    </>
  );
}
