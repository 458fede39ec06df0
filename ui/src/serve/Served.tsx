/** The page of a server: all runs, some of them, a job that goes on, or a new one. */

import { useEffect, useState } from "preact/hooks";

import type { Palette } from "../data";
import { useTheme } from "../theme";
import { Gallery } from "./Gallery";
import { Guide } from "./Guide";
import { Home } from "./Home";
import { JobView } from "./JobView";
import { NewRun } from "./NewRun";
import { RunsView } from "./RunsView";
import { hashOf, type Route, routeOf } from "./route";
import "./cards.css";
import "./new_run.css";
import "./serve.css";

const TITLES: Partial<Record<Route["at"], string>> = {
  home: "anabranch: runs",
  new: "anabranch: new run",
  guide: "anabranch: guide",
};

export function Served({ palette }: { palette: Palette }) {
  const [hash, setHash] = useState(location.hash);
  const route = routeOf(hash);
  const { theme, next } = useTheme();
  useEffect(() => {
    const follow = () => setHash(location.hash);
    window.addEventListener("hashchange", follow);
    return () => window.removeEventListener("hashchange", follow);
  }, []);
  useEffect(() => {
    const title = TITLES[route.at];
    if (title) document.title = title;
  }, [route.at]);
  /** Changes the address without a step for the back button. */
  const replace = (to: string) => {
    history.replaceState(null, "", to);
    setHash(to);
  };
  const place = (to: Route, words: string) => (
    <a href={hashOf(to)} aria-current={route.at === to.at ? "page" : undefined}>
      {words}
    </a>
  );

  return (
    <>
      <nav class="places" aria-label="places">
        <span class="name">anabranch</span>
        {place({ at: "home", filter: "", chosen: [], order: "" }, "runs")}
        {place({ at: "new", origin: "" }, "new run")}
        {place({ at: "guide" }, "guide")}
        {/* Runs have a switch of their own. */}
        {route.at === "runs" || route.at === "job" ? null : (
          <button type="button" class="theme" onClick={next} title="system, light or dark">
            ◐ {theme}
          </button>
        )}
      </nav>
      {route.at === "home" ? <Home {...{ route, replace, palette }} /> : null}
      {route.at === "runs" ? <RunsView key={route.ids.join()} ids={route.ids} palette={palette} /> : null}
      {route.at === "job" ? <JobView key={route.id} id={route.id} palette={palette} replace={replace} /> : null}
      {route.at === "new" && !route.origin ? <Gallery palette={palette} /> : null}
      {route.at === "new" && route.origin ? <NewRun key={route.origin} origin={route.origin} /> : null}
      {route.at === "guide" ? <Guide /> : null}
    </>
  );
}
