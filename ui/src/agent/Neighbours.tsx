/** The neighbours of an agent. */

import { NEIGHBOURS, type Neighbour } from "./agent";

export function Neighbours({ neighbours }: { neighbours: Neighbour[] }) {
  return (
    <section class="table" aria-label="neighbours">
      <h2>Neighbours</h2>
      <table>
        <thead>
          <tr>
            <th scope="col">node</th>
            <th scope="col">state</th>
            <th scope="col" class="number">
              messages waiting
            </th>
          </tr>
        </thead>
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
