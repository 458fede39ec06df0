/** The connections, the farthest from fair first. */

import { type Inks, seen } from "../colours";
import type { Run } from "../data";
import { byDistance, errorAt, matching, type State, type Update } from "../selection";
import { errorText, NONE, rateText } from "../units";
import { Marker } from "./Marker";

interface Props {
  run: Run;
  sample: number;
  state: State;
  update: Update;
  own: Inks;
}

const MOST_ROWS = 40;

export function ConnectionTable({ run, sample, state, update, own }: Props) {
  const found = matching(run, state.filter);
  const order = byDistance(run, found, sample);
  const shown = order.slice(0, MOST_ROWS);
  const solved = run.header.kind === "allocation";
  const { connections } = run.header;
  if (!connections.name.length) return <p class="empty">there are no connections</p>;
  return (
    <div class="connections">
      <table>
        <thead>
          <tr>
            <th scope="col">connection</th>
            <th scope="col">{solved ? "method" : "protocol"}</th>
            <th scope="col">{solved ? "rate" : "granted"}</th>
            <th scope="col">{solved ? "demand" : "fair"}</th>
            <th scope="col">{solved ? "held by" : "error"}</th>
            {solved ? null : <th scope="col">delivered</th>}
          </tr>
        </thead>
        <tbody>
          {shown.map((c) => {
            const name = connections.name[c] ?? "";
            const protocol = connections.protocol[c] ?? "";
            const look = run.header.protocols[protocol];
            const at = (column: string) => rateText(run.table("connection", column)?.at(c, sample));
            return (
              <tr
                key={c}
                class={state.chosen === name ? "chosen" : ""}
                onMouseEnter={() => update({ hovered: name })}
                onMouseLeave={() => update({ hovered: null })}
                onClick={() => update({ chosen: state.chosen === name ? null : name })}
              >
                <th scope="row">
                  <button type="button" aria-pressed={state.chosen === name}>
                    {name}
                  </button>
                </th>
                <td>
                  {look ? <Marker shape={look.marker} colour={seen(look.colour, own)} /> : null} {protocol}
                </td>
                <td class="number">{at("granted_bps")}</td>
                <td class="number">{solved ? rateText(connections.demand_bps?.[c]) : at("fair_bps")}</td>
                <td class="number">
                  {solved ? (connections.held_by?.[c] ?? NONE) : errorText(errorAt(run, c, sample))}
                </td>
                {solved ? null : <td class="number">{at("delivered_bps")}</td>}
              </tr>
            );
          })}
        </tbody>
      </table>
      {found.length ? null : <p class="empty">no connection is called so</p>}
      {order.length > shown.length ? (
        <p class="more">and {order.length - shown.length} more; filter by name to see them</p>
      ) : null}
    </div>
  );
}
