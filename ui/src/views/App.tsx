/** The page: runs side by side under one time, one choice and one filter. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { chartsOf, variableName, withCommonAxes } from "../charts";
import { inks } from "../colours";
import type { Palette, Run } from "../data";
import type { State } from "../selection";
import { RunView } from "./RunView";
import { Timeline } from "./Timeline";

interface Props {
  runs: Run[];
  palette: Palette;
}

const SCHEME = "(prefers-color-scheme: dark)";

export function App({ runs, palette }: Props) {
  const start_s = Math.min(...runs.map((run) => run.times[0] ?? 0));
  const end_s = Math.max(...runs.map((run) => run.times[run.times.length - 1] ?? 0));
  const step_s = (runs[0]?.times[1] ?? 0) - (runs[0]?.times[0] ?? 0) || (end_s - start_s) / 500 || 1;
  const [state, setState] = useState<State>({
    time_s: end_s,
    playing: false,
    playFor_s: 20,
    chosen: null,
    hovered: null,
    filter: "",
    variable: "granted_bps",
  });
  const update = (change: Partial<State>) => setState((old) => ({ ...old, ...change }));
  const own = inks(useDark());
  const several = new Set(runs.flatMap((run) => Object.keys(run.header.protocols))).size > 1;
  const { chosen, filter, variable } = state;
  const charts = useMemo(
    () => withCommonAxes(runs.map((run) => chartsOf(run, { chosen, filter, variable }, palette, several, own))),
    [runs, chosen, filter, variable, palette, several, own],
  );
  const variables = useMemo(() => [...new Set(runs.flatMap((run) => run.variables("subflow")))], [runs]);
  usePlay(state, setState, start_s, end_s);
  useKeys(state, setState, start_s, end_s, step_s);

  return (
    <main class={runs.length > 1 ? "several" : "one"}>
      <header>
        <h1>{runs.length === 1 ? runs[0]?.header.title || runs[0]?.header.name : `${runs.length} runs`}</h1>
        {variables.length > 1 ? (
          <label>
            <span>of subflows </span>
            <select value={variable} onChange={(event) => update({ variable: event.currentTarget.value })}>
              {variables.map((name) => (
                <option key={name} value={name}>
                  {variableName(name)}
                </option>
              ))}
            </select>
          </label>
        ) : null}
        <label class="filter">
          <span>filter</span>
          <input
            type="search"
            id="filter"
            placeholder="connection or protocol"
            value={state.filter}
            onInput={(event) => update({ filter: event.currentTarget.value })}
          />
        </label>
      </header>
      {end_s > start_s ? <Timeline {...{ state, update, start_s, end_s, step_s }} /> : null}
      <div class="runs" style={{ "--runs": runs.length }}>
        {runs.map((run, i) => (
          <RunView key={i} {...{ run, charts: charts[i] ?? [], state, update, palette, several, own }} />
        ))}
      </div>
      <footer>space: play or pause · ← →: a sample · Home, End · /: filter · Esc: choose nothing</footer>
    </main>
  );
}

function useDark(): boolean {
  const [dark, setDark] = useState(() => window.matchMedia(SCHEME).matches);
  useEffect(() => {
    const scheme = window.matchMedia(SCHEME);
    const follow = () => setDark(scheme.matches);
    scheme.addEventListener("change", follow);
    return () => scheme.removeEventListener("change", follow);
  }, []);
  return dark;
}

type SetState = (change: (old: State) => State) => void;

/** Moves time while the page plays, and stops at the end. */
function usePlay(state: State, setState: SetState, start_s: number, end_s: number): void {
  useEffect(() => {
    if (!state.playing) return;
    let [last, frame] = [performance.now(), 0];
    const turn = (now: number) => {
      const passed_s = (((now - last) / 1000) * (end_s - start_s)) / state.playFor_s;
      last = now;
      setState((old) => {
        const time_s = Math.min(old.time_s + passed_s, end_s);
        return { ...old, time_s, playing: old.playing && time_s < end_s };
      });
      frame = requestAnimationFrame(turn);
    };
    frame = requestAnimationFrame(turn);
    return () => cancelAnimationFrame(frame);
  }, [state.playing, state.playFor_s, setState, start_s, end_s]);
}

/** Keys for all of the page, where no field of a form has them. */
function useKeys(state: State, setState: SetState, start_s: number, end_s: number, step_s: number): void {
  const latest = useRef(state);
  latest.current = state;
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      const inField = event.target instanceof Element && event.target.closest("input, select, button") !== null;
      if (event.key === "Escape") setState((old) => ({ ...old, chosen: null, hovered: null }));
      if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
      const change = changeBy(event.key, latest.current, start_s, end_s, step_s);
      if (event.key === "/") document.getElementById("filter")?.focus();
      else if (change) setState((old) => ({ ...old, ...change }));
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [setState, start_s, end_s, step_s]);
}

function changeBy(key: string, state: State, start_s: number, end_s: number, step_s: number): Partial<State> | null {
  const to = (time_s: number) => ({ time_s: Math.min(Math.max(time_s, start_s), end_s), playing: false });
  switch (key) {
    case " ":
      return { playing: !state.playing, time_s: state.time_s >= end_s && !state.playing ? start_s : state.time_s };
    case "ArrowLeft":
      return to(state.time_s - step_s);
    case "ArrowRight":
      return to(state.time_s + step_s);
    case "Home":
      return to(start_s);
    case "End":
      return to(end_s);
    default:
      return null;
  }
}
