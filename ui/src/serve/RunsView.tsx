/** Runs of the folder, side by side. */

import { useEffect, useState } from "preact/hooks";

import { type Header, type Palette, Run } from "../data";
import { App } from "../views/App";
import { ask, askBytes, isAborted, reasonOf } from "./server";

export function RunsView({ ids, palette }: { ids: string[]; palette: Palette }) {
  const [runs, setRuns] = useState<Run[] | null>(null);
  const [failed, setFailed] = useState("");
  const wanted = ids.join(",");
  useEffect(() => {
    const ended = new AbortController();
    Promise.all(wanted.split(",").map((id) => runOf(id, ended.signal))).then(
      (all) => {
        document.title = all.map((run) => run.header.name).join(" · ");
        setRuns(all);
      },
      (error) => isAborted(error) || setFailed(reasonOf(error)),
    );
    return () => ended.abort();
  }, [wanted]);

  if (failed) return <p class="failed">This cannot be shown: {failed}</p>;
  return runs ? <App runs={runs} palette={palette} /> : <p class="empty waiting">reading …</p>;
}

/** Asks for a run: its header and its arrays at once. */
async function runOf(id: string, signal: AbortSignal): Promise<Run> {
  const path = `api/runs/${encodeURIComponent(id)}`;
  const [header, blob] = await Promise.all([ask<Header>(path, signal), askBytes(`${path}/data`, signal)]);
  return new Run(header, blob);
}
