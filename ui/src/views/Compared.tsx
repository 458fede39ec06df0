/** Which connections stand in the charts of rivals: each can be added and taken away. */

import type { Run } from "../data";
import { comparedOf } from "../rival_charts";
import { matching, type State, type Update } from "../selection";

/** Of more connections the filter helps. */
const MOST = 14;

interface Props {
  run: Run;
  state: State;
  update: Update;
  colourOf: (connection: number) => string;
}

export function Compared({ run, state, update, colourOf }: Props) {
  const { name } = run.header.connections;
  const chosen = name.indexOf(state.chosen ?? "");
  const own = comparedOf(run, state.compared, chosen, state.filter);
  const offered = [...new Set([...own, ...matching(run, state.filter)])].slice(0, Math.max(MOST, own.length));
  const rest = matching(run, state.filter).filter((c) => !offered.includes(c)).length;
  const toggle = (c: number) => {
    const kept = own.filter((other) => other !== c).map((other) => name[other] as string);
    update({ compared: own.includes(c) ? kept : [...kept, name[c] as string] });
  };
  return (
    <fieldset class="compared">
      <legend>compare</legend>
      {offered.map((c) => (
        <button
          key={c}
          type="button"
          aria-pressed={own.includes(c)}
          style={own.includes(c) ? { borderColor: colourOf(c) } : {}}
          onClick={() => toggle(c)}
        >
          {name[c]}
        </button>
      ))}
      {rest ? <span class="more">and {rest} more: use the filter</span> : null}
    </fieldset>
  );
}
