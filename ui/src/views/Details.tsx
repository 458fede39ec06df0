/** The chosen connection: its subflows, where they go, and what holds each of them back. */

import type { Run } from "../data";
import { bottlenecks } from "../selection";
import { rateText } from "../units";

export function Details({ run, connection, sample }: { run: Run; connection: number; sample: number }) {
  const { subflows, links, connections } = run.header;
  const held = bottlenecks(run, connection, sample);
  const granted = run.table("subflow", "granted_bps");
  return (
    <section class="details" aria-label="chosen connection">
      <h3>{connections.name[connection]}</h3>
      <ol>
        {(run.subflowsOf[connection] ?? []).map((subflow) => {
          const path = subflows.path[subflow] ?? [];
          const own = subflows.bottleneck ? [subflows.bottleneck[subflow]] : path.filter((link) => held.has(link));
          const why = own.flatMap((link) => (link == null ? [] : [links.name[link]])).join(", ");
          return (
            <li key={subflow}>
              <b>{rateText(granted?.at(subflow, sample))}</b> over {path.map((link) => links.name[link]).join(" > ")}
              {why ? <em> · full: {why}</em> : null}
              {!why && subflows.held_by ? <em> · held back by {subflows.held_by[subflow]}</em> : null}
            </li>
          );
        })}
      </ol>
    </section>
  );
}
