/** The chosen connection of a run: what it gets, its subflows, where they go, and what holds each of them back. */

import type { ComponentChildren } from "preact";
import type { Run } from "../data";
import { countedRate, distanceAt } from "../distance";
import { bottlenecks, type Update } from "../selection";
import { errorText, rateText } from "../units";
import { LinkName } from "./LinkName";
import { PathLinks } from "./PathLinks";
import { Term } from "./Term";

interface Props {
  run: Run;
  connection: number;
  sample: number;
  update: Update;
  /** A chart of its subflows. */
  children?: ComponentChildren;
}

export function Details({ run, connection, sample, update, children }: Props) {
  const { subflows } = run.header;
  const held = bottlenecks(run, connection, sample);
  const granted = run.table("subflow", "granted_bps");
  return (
    <section class="details" aria-label="chosen connection">
      <Sum {...{ run, connection, sample }} />
      <ol>
        {(run.subflowsOf[connection] ?? []).map((subflow) => {
          const path = subflows.path[subflow] ?? [];
          const own = path.filter((link) => held.has(link));
          return (
            <li key={subflow}>
              {granted ? <b>{rateText(granted.at(subflow, sample))}</b> : null} over{" "}
              <PathLinks {...{ run, path, update }} />
              {own.length ? (
                <em>
                  {" · "}
                  <Term of="saturated">full</Term>:{" "}
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
      {children}
    </section>
  );
}

/** What a connection gets, beside what would be fair and what arrives. */
function Sum({ run, connection, sample }: Pick<Props, "run" | "connection" | "sample">) {
  const at = (name: string) => run.table("connection", name)?.at(connection, sample);
  const [granted, fair, delivered] = ["granted_bps", "fair_bps", "delivered_bps"].map(at);
  const protocol = run.header.connections.protocol[connection];
  const { start_s, stopped_s } = run.header.connections;
  const now = run.times[sample] ?? 0;
  const isBefore = (start_s?.[connection] ?? 0) > now;
  const isGone = (stopped_s?.[connection] ?? Number.POSITIVE_INFINITY) <= now;
  if (isBefore) return <p>It has not started yet ({protocol}).</p>;
  if (granted === undefined) return <p>Its rates were not recorded ({protocol}).</p>;
  if (isGone) return <p>It has stopped ({protocol}).</p>;
  const distance = errorText(distanceAt(run, connection, sample));
  const fairly = fair === undefined || Number.isNaN(fair) ? "" : `; ${rateText(fair)} would be fair (${distance})`;
  if (countedRate(run) === "delivered_bps" && delivered !== undefined && !Number.isNaN(delivered)) {
    return (
      <p>
        Under {protocol} <b>{rateText(delivered)}</b> arrive{fairly}. Its windows allow {rateText(granted)}.
      </p>
    );
  }
  return (
    <p>
      Under {protocol} it may send at <b>{rateText(granted)}</b>
      {fairly}
      {delivered === undefined || Number.isNaN(delivered) ? "" : `; ${rateText(delivered)} arrive`}.
    </p>
  );
}
