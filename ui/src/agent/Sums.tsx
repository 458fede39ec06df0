/** The sums at the links of an agent. */

import { digits, rateText } from "../units";
import { Heads } from "../views/Heads";
import type { Sums as Row } from "./agent";

export function Sums({ sums }: { sums: Row[] }) {
  if (!sums.length) return null;
  const isReserved = sums.some(({ reserved_bps }) => reserved_bps);
  return (
    <section class="table" aria-label="links of this node">
      <h2>Links of this node</h2>
      <table>
        <Heads
          of={[
            "link",
            { number: "divides" },
            { number: "weights" },
            { number: "of these limited here" },
            ...(isReserved ? [{ number: "reserved" }] : []),
          ]}
        />
        <tbody>
          {sums.map(({ link, capacity_bps, claims, claims_limited_here, reserved_bps }) => (
            <tr key={link} class={capacity_bps === 0 ? "bad" : ""}>
              <th scope="row">{link}</th>
              <td class="number">
                {capacity_bps === 0 ? "is down" : rateText(capacity_bps ?? Number.POSITIVE_INFINITY)}
              </td>
              <td class="number">{digits(claims)}</td>
              <td class="number">{digits(claims_limited_here)}</td>
              {isReserved ? <td class="number">{rateText(reserved_bps ?? 0)}</td> : null}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
