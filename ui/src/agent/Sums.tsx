/** The sums at the links of an agent. */

import { digits, rateText } from "../units";
import type { Sums as Row } from "./agent";

export function Sums({ sums }: { sums: Row[] }) {
  if (!sums.length) return null;
  const isReserved = sums.some(({ reserved_bps }) => reserved_bps);
  return (
    <section class="table" aria-label="links of this node">
      <h2>Links of this node</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">link</th>
            <th scope="col" class="number">
              divides
            </th>
            <th scope="col" class="number">
              weights
            </th>
            <th scope="col" class="number">
              of these limited here
            </th>
            {isReserved ? (
              <th scope="col" class="number">
                reserved
              </th>
            ) : null}
          </tr>
        </thead>
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
