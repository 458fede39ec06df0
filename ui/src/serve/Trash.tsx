/** What was deleted: it can be brought back, or removed for good. */

import { useState } from "preact/hooks";

import { sizeText } from "../units";
import { emptyTrash, reasonOf, restoreRun, type Trashed } from "./server";

export function Trash({ runs, changed }: { runs: Trashed[]; changed: () => void }) {
  const [failed, setFailed] = useState("");
  const [sure, setSure] = useState(false);
  if (!runs.length) return null;
  const act = (deed: Promise<unknown>) => {
    deed.then(changed, (error) => setFailed(reasonOf(error)));
    setSure(false);
  };
  const bytes = runs.reduce((sum, run) => sum + run.bytes, 0);
  return (
    <details class="trash">
      <summary>
        {runs.length} {runs.length === 1 ? "run" : "runs"} in the trash, {sizeText(bytes)}
      </summary>
      {failed ? <p class="failed">{failed}</p> : null}
      <ul>
        {runs.map((run) => (
          <li key={run.id}>
            {run.folder}{" "}
            <button
              type="button"
              class="plain"
              aria-label={`bring back ${run.folder}`}
              onClick={() => act(restoreRun(run.id))}
            >
              bring back
            </button>
          </li>
        ))}
      </ul>
      {sure ? (
        <p>
          They are removed for good.{" "}
          <button type="button" class="primary" onClick={() => act(emptyTrash())}>
            remove {runs.length === 1 ? "it" : `all ${runs.length}`}
          </button>{" "}
          <button type="button" onClick={() => setSure(false)}>
            keep
          </button>
        </p>
      ) : (
        <button type="button" class="plain" onClick={() => setSure(true)}>
          empty the trash
        </button>
      )}
    </details>
  );
}
