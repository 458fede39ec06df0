/** Play, pause, how fast, and the slider that moves everything. */

import type { State, Update } from "../selection";
import { spanText } from "../units";

/** How long the whole run may take to play, in seconds. */
const SPEEDS = [60, 20, 10, 5];

interface Props {
  state: State;
  update: Update;
  start_s: number;
  end_s: number;
  step_s: number;
}

export function Timeline({ state, update, start_s, end_s, step_s }: Props) {
  const atEnd = state.time_s >= end_s;
  const play = () => update({ playing: !state.playing, time_s: atEnd && !state.playing ? start_s : state.time_s });
  return (
    <section class="timeline" aria-label="time">
      <button type="button" class="play" onClick={play} aria-label={state.playing ? "pause" : "play"}>
        {state.playing ? "❚❚" : "▶"}
      </button>
      <input
        type="range"
        aria-label="time"
        min={start_s}
        max={end_s}
        step={step_s}
        value={state.time_s}
        aria-valuetext={spanText(state.time_s)}
        onInput={(event) => update({ time_s: Number(event.currentTarget.value), playing: false })}
      />
      <output>{spanText(state.time_s)}</output>
      <label>
        plays in{" "}
        <select
          value={state.playFor_s}
          onChange={(event) => update({ playFor_s: Number(event.currentTarget.value) })}
          aria-label="speed"
        >
          {SPEEDS.map((seconds) => (
            <option key={seconds} value={seconds}>
              {seconds} s
            </option>
          ))}
        </select>
      </label>
    </section>
  );
}
