/** The neighbours of an agent. */

import { Heads } from "../views/Heads";
import { NEIGHBOURS, type Neighbour } from "./agent";

export function Neighbours({ neighbours }: { neighbours: Neighbour[] }) {
  return (
    <section class="table" aria-label="neighbours">
      <h2>Neighbours</h2>
      <table>
        <Heads of={["node", "state", { number: "messages waiting" }]} />
        <tbody>
          {neighbours.map(({ node, state, waiting }) => (
            <tr key={node} class={state === "up" ? "" : "bad"}>
              <th scope="row">{node}</th>
              <td>{NEIGHBOURS[state]}</td>
              <td class="number">{waiting}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
