/** The clients that an exit or a relay knows by name, with all that they have carried. */

import { sizeText } from "../units";
import { Heads } from "../views/Heads";
import type { Client, Status } from "./proxy";

/** The most clients of the table: those that have carried the most. */
const MOST_CLIENTS = 100;

const carried = (client: Client): number => client.to_targets_bytes + client.from_targets_bytes;

export function Clients({ status }: { status: Status }) {
  const all = status.clients.filter((client) => client.client);
  const shown = [...all].sort((one, other) => carried(other) - carried(one)).slice(0, MOST_CLIENTS);
  if (!shown.length) return null;
  return (
    <section class="table" aria-label="clients">
      <h2>Clients since the start</h2>
      <table>
        <Heads
          of={[
            "client",
            { minor: "open flows" },
            { number: "to targets" },
            { number: "from targets" },
            { number: "used of its quota" },
          ]}
        />
        <tbody>
          {shown.map((client) => (
            <tr key={client.client} class={isSpent(client) ? "bad" : ""}>
              <th scope="row">{client.client}</th>
              <td class="number minor">{client.open_flows}</td>
              <td class="number">{sizeText(client.to_targets_bytes)}</td>
              <td class="number">{sizeText(client.from_targets_bytes)}</td>
              <td class="number">{quotaText(client)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {all.length > shown.length ? <p class="empty">{all.length - shown.length} clients have carried less.</p> : null}
    </section>
  );
}

const isSpent = ({ quota_bytes, used_bytes }: Client): boolean =>
  quota_bytes !== undefined && (used_bytes ?? 0) >= quota_bytes;

const quotaText = ({ quota_bytes, used_bytes }: Client): string =>
  quota_bytes === undefined ? "–" : `${sizeText(used_bytes ?? 0)} of ${sizeText(quota_bytes)}`;
