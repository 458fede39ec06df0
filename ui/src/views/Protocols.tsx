/** The protocols of the page, with the colour and marker that each has everywhere. */

import { type Inks, seen } from "../colours";
import type { Run } from "../data";
import { Marker } from "./Marker";

export function Protocols({ runs, own }: { runs: Run[]; own: Inks }) {
  const looks = new Map(runs.flatMap((run) => (run.header.kind === "run" ? Object.entries(run.header.protocols) : [])));
  if (!looks.size) return null;
  return (
    <ul class="protocols" aria-label="protocols">
      {[...looks].map(([protocol, look]) => (
        <li key={protocol}>
          <Marker shape={look.marker} colour={seen(look.colour, own)} /> {protocol}
        </li>
      ))}
    </ul>
  );
}
