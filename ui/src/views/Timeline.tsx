/** Play, pause, how fast, and the slider that moves everything. */

import type { State, Update } from "../selection";
import { spanText } from "../units";

/** How long the whole run may take to play, in seconds. */
const SPEEDS = [60, 20, 10, 5];

/** The times of the page: from where to where, where it opened, and how far samples are apart. */
export interface Times {
  start_s: number;
  end_s: number;
  opening_s: number;
  step_s: number;
}

interface Props {
  state: State;
  update: Update;
  times: Times;
}

/** What the play button does: it plays from the beginning at the end, and where the page opened. */
export function played(state: State, { start_s, end_s, opening_s }: Times): Partial<State> {
  if (state.playing) return { playing: false };
  const isFresh = state.time_s >= end_s || state.time_s === opening_s;
  return { playing: true, time_s: isFresh ? start_s : state.time_s };
}

export function Timeline({ state, update, times }: Props) {
  const { start_s, end_s, step_s } = times;
  return (
    <section class="timeline" aria-label="time">
      <button
        type="button"
        class="play"
        onClick={() => update(played(state, times))}
        aria-label={state.playing ? "pause" : "play"}
      >
        <span aria-hidden="true">{state.playing ? "❚❚" : "▶"}</span> {state.playing ? "Pause" : "Play"}
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
        <span>plays in </span>
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
