/** The chosen connection of a run: its subflows, where they go, and what holds each of them back. */

import type { Run } from "../data";
import { bottlenecks, type Update } from "../selection";
import { rateText } from "../units";
import { LinkName } from "./LinkName";
import { PathLinks } from "./PathLinks";

interface Props {
  run: Run;
  connection: number;
  sample: number;
  update: Update;
}

export function Details({ run, connection, sample, update }: Props) {
  const { subflows, connections } = run.header;
  const held = bottlenecks(run, connection, sample);
  const granted = run.table("subflow", "granted_bps");
  return (
    <section class="details" aria-label="chosen connection">
      <h3>{connections.name[connection]}</h3>
      <ol>
        {(run.subflowsOf[connection] ?? []).map((subflow) => {
          const path = subflows.path[subflow] ?? [];
          const own = path.filter((link) => held.has(link));
          return (
            <li key={subflow}>
              <b>{rateText(granted?.at(subflow, sample))}</b> over <PathLinks {...{ run, path, update }} />
              {own.length ? (
                <em>
                  {" "}
                  · full:{" "}
                  {own.map((link, i) => (
                    <span key={link}>
                      {i ? ", " : ""}
                      <LinkName {...{ run, link, update }} />
                    </span>
                  ))}
                </em>
              ) : null}
            </li>
          );
        })}
      </ol>
    </section>
  );
}
