/** The means of a simulation and of a live run beside each other, for each connection. */

import type { Compared } from "../data";
import { unitOf } from "../scaled";
import { NONE } from "../units";
import { Term } from "./Term";

/** Of more connections the tables of the runs have the rest. */
const MOST = 20;

export function Beside({ compared }: { compared: Compared }) {
  const { connection, simulated_bps, live_bps, simulated_rtt_s, live_rtt_s } = compared;
  const most = (...columns: (number | null)[][]) => Math.max(0, ...columns.flat().map((value) => value ?? 0));
  const rates = unitOf("rate_bps", most(simulated_bps, live_bps));
  const rtts = unitOf("rtt_s", most(simulated_rtt_s, live_rtt_s));
  const difference = (value: number | null | undefined) =>
    value == null ? NONE : `${unitOf("error", 1).text(value)} %`;
  return (
    <section class="beside scroll" aria-label="simulated and live">
      <table>
        <thead>
          <tr>
            <th scope="col" rowSpan={2}>
              <Term of="connection" />
            </th>
            <th scope="colgroup" colSpan={3}>
              mean rate<span class="unit">, {rates.name}</span>
            </th>
            <th scope="colgroup" colSpan={3}>
              <Term of="rtt">mean round trip</Term>
              <span class="unit">, {rtts.name}</span>
            </th>
          </tr>
          <tr>
            {["rate", "round trip"].map((of) => (
              <>
                <th scope="col" class="number" key={`${of} simulated`}>
                  simulated
                </th>
                <th scope="col" class="number" key={`${of} live`}>
                  live
                </th>
                <th scope="col" class="number" key={`${of} difference`}>
                  difference
                </th>
              </>
            ))}
          </tr>
        </thead>
        <tbody>
          {connection.slice(0, MOST).map((name, row) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="number">{rates.text(simulated_bps[row])}</td>
              <td class="number">{rates.text(live_bps[row])}</td>
              <td class="number">{difference(compared.rate_difference[row])}</td>
              <td class="number">{rtts.text(simulated_rtt_s[row])}</td>
              <td class="number">{rtts.text(live_rtt_s[row])}</td>
              <td class="number">{difference(compared.rtt_difference[row])}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {connection.length > MOST ? <p class="more">and {connection.length - MOST} more, in the tables below</p> : null}
    </section>
  );
}
