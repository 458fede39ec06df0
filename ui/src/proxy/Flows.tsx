/** The flows that are open, those first that have carried the most. */

import { useState } from "preact/hooks";

import { sizeText } from "../units";
import { Heads } from "../views/Heads";
import type { Flow, Flows as Open, Status } from "./proxy";

export function Flows({ flows, status }: { flows: Open; status: Status }) {
  const [filter, setFilter] = useState("");
  const words = filter.toLowerCase().split(/\s+/);
  // A relay has each flow twice: from a client, and to its exit.
  const onward = status.kind === "relay" ? status.peers.find((peer) => peer.is_onward)?.peer : undefined;
  const own = flows.flows.filter((flow) => flow.peer !== onward);
  const found = own.filter((flow) => {
    const text = `${flow.target} ${flow.kind} ${flow.peer}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
  const isMany = status.peers.filter((peer) => peer.peer !== onward).length > 1;
  return (
    <section class="table" aria-label="flows">
      <div class="title">
        <h2>Flows</h2>
        <input
          type="search"
          aria-label="filter flows"
          placeholder="filter"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
      </div>
      {flows.count ? null : <p class="empty">No flow is open.</p>}
      {flows.count && !found.length ? <p class="empty">No flow fits.</p> : null}
      {found.length ? (
        <table>
          <Heads
            of={[
              "target",
              "kind",
              ...(isMany ? ["client"] : []),
              { number: "to target" },
              { number: "from target" },
              { minor: "waiting" },
              { minor: "age" },
              { minor: "lines" },
            ]}
          />
          <tbody>
            {found.map((flow) => (
              <tr key={`${flow.peer} ${flow.number}`}>
                <th scope="row">{flow.target}</th>
                <td>{flow.kind.toUpperCase()}</td>
                {isMany ? <td>{flow.peer}</td> : null}
                <td class="number">{sizeText(flow.to_target_bytes)}</td>
                <td class="number">{sizeText(flow.from_target_bytes)}</td>
                <td class="number minor">{sizeText(flow.waiting_bytes)}</td>
                <td class="number minor">{ageText(flows.time_s - flow.begun_s)}</td>
                <td class="number minor">{linesText(flow)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : null}
      {flows.count > flows.flows.length ? (
        <p class="more">
          The page shows {flows.flows.length} of {flows.count} flows;{" "}
          <a href="api/v1/flows?limit=10000">the interface</a> has all.
        </p>
      ) : null}
    </section>
  );
}

/** Lines by number, each with the number of its streams if there are several. */
export function linesText({ lines }: Pick<Flow, "lines">): string {
  const counts = new Map<number, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  const each = [...counts].sort(([one], [other]) => one - other);
  return each.map(([line, count]) => (count > 1 ? `${line} (${count} streams)` : String(line))).join(", ") || "–";
}

/** Whole seconds, minutes or hours. */
export function ageText(age_s: number): string {
  const age = Math.max(0, age_s);
  if (age < 100) return `${Math.floor(age)} s`;
  return age < 6000 ? `${Math.floor(age / 60)} min` : `${Math.floor(age / 3600)} h`;
}
