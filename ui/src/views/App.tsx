/** The page: runs side by side under one time, one choice and one filter. */

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { chartsOf, withCommonAxes } from "../charts";
import type { Palette, Run } from "../data";
import { keptState, useKept } from "../kept";
import { scalesOf } from "../scales";
import type { State } from "../selection";
import { useTheme } from "../theme";
import { Help } from "./Help";
import { Protocols } from "./Protocols";
import { RunView } from "./RunView";
import { Timeline } from "./Timeline";

interface Props {
  runs: Run[];
  palette: Palette;
}

const BEGINNING: Omit<State, "time_s"> = {
  playing: false,
  playFor_s: 20,
  chosen: null,
  link: null,
  hovered: null,
  filter: "",
  drawn: { connection: "granted_bps", subflow: "granted_bps", link: "backlog_bytes", run: "present" },
  span: null,
  whole: false,
};

export function App({ runs, palette }: Props) {
  const start_s = Math.min(...runs.map((run) => run.times[0] ?? 0));
  const end_s = Math.max(...runs.map((run) => run.times[run.times.length - 1] ?? 0));
  const step_s = (runs[0]?.times[1] ?? 0) - (runs[0]?.times[0] ?? 0) || (end_s - start_s) / 500 || 1;
  const [state, setState] = useState<State>(() => ({ ...BEGINNING, time_s: end_s, ...keptState() }));
  const { theme, own, next } = useTheme();
  const [help, setHelp] = useState(false);
  const update = useCallback((change: Partial<State>) => setState((old) => ({ ...old, ...change })), []);
  const { chosen, link, filter, drawn } = state;
  const charts = useMemo(() => {
    const shown = { chosen, link, filter, drawn };
    return withCommonAxes(runs.map((run) => chartsOf({ run, shown, palette, own })));
  }, [runs, chosen, link, filter, drawn, palette, own]);
  const scales = useMemo(() => scalesOf(runs), [runs]);
  const span = useMemo(() => state.span ?? wholeSpan(start_s, end_s), [state.span, start_s, end_s]);
  useEnd(setState, end_s);
  usePlay(state, setState, start_s, end_s);
  useKeys(state, setState, start_s, end_s, step_s, () => setHelp(true));
  useKept(state, end_s);

  return (
    <main class={runs.length > 1 ? "several" : "one"}>
      <header>
        <h1>{runs.length === 1 ? runs[0]?.header.title || runs[0]?.header.name : `${runs.length} runs`}</h1>
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
        <button type="button" onClick={next} title="light, dark, or as the system has it">
          {theme === "system" ? "◐ system" : theme === "light" ? "☀ light" : "☾ dark"}
        </button>
        <button type="button" aria-label="keys" onClick={() => setHelp(true)}>
          ?
        </button>
      </header>
      <Protocols runs={runs} own={own} />
      {end_s > start_s ? <Timeline {...{ state, update, start_s, end_s, step_s }} /> : null}
      <div class="runs">
        {runs.map((run, i) => (
          <RunView key={i} {...{ run, charts: charts[i] ?? [], state, span, update, palette, own, scales }} />
        ))}
      </div>
      <footer>space: play or pause · ← →: a sample · /: filter · Esc: clear the choice · ?: all keys</footer>
      {help ? <Help onClose={() => setHelp(false)} /> : null}
    </main>
  );
}

/** All of the time; a lone instant has some room around it. */
const wholeSpan = (start_s: number, end_s: number): [number, number] =>
  end_s > start_s ? [start_s, end_s] : [start_s - 0.5, start_s + 0.5];

type SetState = (change: (old: State) => State) => void;

/** Who looks at the end of a run that grows stays there. */
function useEnd(setState: SetState, end_s: number): void {
  const last = useRef(end_s);
  useEffect(() => {
    const before = last.current;
    last.current = end_s;
    setState((old) => (old.time_s >= before && !old.playing ? { ...old, time_s: end_s } : old));
  }, [setState, end_s]);
}

/** Moves time while the page plays, and stops at the end. */
function usePlay(state: State, setState: SetState, start_s: number, end_s: number): void {
  useEffect(() => {
    if (!state.playing) return;
    let [last, frame] = [performance.now(), 0];
    const turn = (now: number) => {
      const passed_s = (((now - last) / 1000) * (end_s - start_s)) / state.playFor_s;
      last = now;
      setState((old) => {
        if (!old.playing) return old;
        const time_s = Math.min(old.time_s + passed_s, end_s);
        return { ...old, time_s, playing: time_s < end_s };
      });
      frame = requestAnimationFrame(turn);
    };
    frame = requestAnimationFrame(turn);
    return () => cancelAnimationFrame(frame);
  }, [state.playing, state.playFor_s, setState, start_s, end_s]);
}

/** Keys for all of the page, where no field of a form has them. */
function useKeys(
  state: State,
  setState: SetState,
  start_s: number,
  end_s: number,
  step_s: number,
  onHelp: () => void,
): void {
  const latest = useRef(state);
  latest.current = state;
  // A key counts as soon as the page is there, before the browser has drawn it.
  useLayoutEffect(() => {
    const press = (event: KeyboardEvent) => {
      const inField = event.target instanceof Element && event.target.closest("input, select, button") !== null;
      if (event.key === "Escape" && !document.querySelector("dialog")) {
        setState((old) => ({ ...old, chosen: null, link: null, hovered: null, span: null }));
      }
      if (inField || event.ctrlKey || event.metaKey || event.altKey) return;
      const change = changeBy(event.key, latest.current, start_s, end_s, step_s);
      if (event.key === "/") document.getElementById("filter")?.focus();
      else if (event.key === "?") onHelp();
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
