/** The page: runs side by side under one time, one choice and one filter. */

import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import { chartsOf, withCommonAxes } from "../charts";
import type { Inks } from "../colours";
import type { Palette, Run } from "../data";
import { factsOf } from "../facts";
import { keptState, useKept } from "../kept";
import { isGrowing, openingRates, openingTime } from "../opening";
import { scalesOf } from "../scales";
import type { State } from "../selection";
import { useTheme } from "../theme";
import { labelsOf, pageTitle } from "../titles";
import { Beside } from "./Beside";
import { Description } from "./Description";
import { Help } from "./Help";
import { Protocols } from "./Protocols";
import { RunView } from "./RunView";
import { Comparison, Tiles } from "./Story";
import { played, Timeline, type Times } from "./Timeline";

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
  compared: null,
  more: false,
};

export function App({ runs, palette }: Props) {
  const times = useMemo(() => timesOf(runs), [runs]);
  const { start_s, end_s, opening_s } = times;
  const [state, setState] = useState<State>(() => {
    const own = { ...BEGINNING.drawn, connection: openingRates(runs) };
    return { ...BEGINNING, drawn: own, time_s: opening_s, ...keptState() };
  });
  const { theme, own, next } = useTheme();
  const [help, setHelp] = useState(false);
  const update = useCallback((change: Partial<State>) => setState((old) => ({ ...old, ...change })), []);
  const { chosen, link, filter, drawn, compared, more } = state;
  const charts = useMemo(() => {
    const shown = { chosen, link, filter, drawn, compared, more };
    return withCommonAxes(runs.map((run) => chartsOf({ run, shown, palette, own })));
  }, [runs, chosen, link, filter, drawn, compared, more, palette, own]);
  const scales = useMemo(() => scalesOf(runs), [runs]);
  const labels = useMemo(() => labelsOf(runs.map((run) => run.header)), [runs]);
  const span = useMemo(() => state.span ?? wholeSpan(start_s, end_s), [state.span, start_s, end_s]);
  useEffect(() => {
    // The title of a run that goes on says how far it is.
    if (!isGrowing(runs)) document.title = pageTitle(runs.map((run) => run.header));
  }, [runs]);
  const hasTime = end_s > start_s;
  const isRun = runs.some((run) => run.header.kind === "run");
  useEnd(setState, end_s);
  usePlay(state, setState, start_s, end_s);
  useKeys(state, setState, times, () => setHelp(true));
  useKept(state, opening_s);
  // With room for its head, network, first chart and table, and for as many other charts as the longest run has.
  const rows = 4 + Math.max(0, ...charts.map((own) => own.length - 1));

  return (
    <main class={runs.length > 1 ? "several" : "one"} style={{ "--rows": rows }}>
      <header>
        <span class="brand">anabranch</span>
        <label class="filter">
          <span>filter</span>
          <input
            type="search"
            id="filter"
            placeholder={isRun ? "connection or protocol" : "connection"}
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
      <Opening {...{ runs, labels, own }} />
      {hasTime ? <Timeline {...{ state, update, times }} /> : null}
      <div class="runs">
        {runs.map((run, i) => (
          <RunView
            key={i}
            {...{ run, state, span, update, palette, own, scales }}
            label={labels[i] as (typeof labels)[0]}
            alone={runs.length === 1}
            charts={charts[i] ?? []}
          />
        ))}
      </div>
      {hasTime ? (
        <button type="button" class="further" aria-pressed={more} onClick={() => update({ more: !more })}>
          {more ? "Fewer charts" : "More charts: distances from fair, the whole run"}
        </button>
      ) : null}
      <footer>
        {hasTime ? (
          <>
            <kbd>Space</kbd> plays or pauses, <kbd>←</kbd> <kbd>→</kbd> go to the next sample,{" "}
          </>
        ) : null}
        <kbd>/</kbd> goes to the filter, <kbd>Esc</kbd> clears what is chosen, <kbd>?</kbd> shows all keys
      </footer>
      {help ? <Help onClose={() => setHelp(false)} hasTime={hasTime} /> : null}
    </main>
  );
}

function timesOf(runs: Run[]): Times {
  const start_s = Math.min(...runs.map((run) => run.times[0] ?? 0));
  const end_s = Math.max(...runs.map((run) => run.times[run.times.length - 1] ?? 0));
  const first = runs.find((run) => run.times.length > 1)?.times ?? [];
  const step_s = (first[1] ?? 0) - (first[0] ?? 0) || (end_s - start_s) / 500 || 1;
  return { start_s, end_s, step_s, opening_s: openingTime(runs) };
}

/** What the page is about, and what came out. */
function Opening({ runs, labels, own }: { runs: Run[]; labels: ReturnType<typeof labelsOf>; own: Inks }) {
  const headers = runs.map((run) => run.header);
  const [only] = headers.length === 1 ? headers : [];
  const first = labels.findIndex((label) => label.group.length > 1);
  const description = only?.description ?? headers[first]?.description;
  const told = description ? <Description text={description} /> : null;
  return (
    <section class="opening">
      <h1>{pageTitle(headers, labels)}</h1>
      {only ? (
        <>
          {told}
          <Dateline run={runs[0] as Run} own={own} />
          <Tiles header={only} />
        </>
      ) : (
        <Comparison {...{ runs, labels, own }}>{told}</Comparison>
      )}
      {headers[0]?.compared ? <Beside compared={headers[0].compared} /> : null}
    </section>
  );
}

/** The protocols of a run, and how large it is. */
function Dateline({ run, own }: { run: Run; own: Inks }) {
  return (
    <div class="dateline">
      <Protocols runs={[run]} own={own} />
      <p class="facts">{factsOf(run)}</p>
    </div>
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
function useKeys(state: State, setState: SetState, times: Times, onHelp: () => void): void {
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
      const change = changeBy(event.key, latest.current, times);
      if (event.key === "/") document.getElementById("filter")?.focus();
      else if (event.key === "?") onHelp();
      else if (change) setState((old) => ({ ...old, ...change }));
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [setState, times]);
}

function changeBy(key: string, state: State, times: Times): Partial<State> | null {
  const { start_s, end_s, step_s } = times;
  if (!(end_s > start_s)) return null;
  const to = (time_s: number) => ({ time_s: Math.min(Math.max(time_s, start_s), end_s), playing: false });
  switch (key) {
    case " ":
      return played(state, times);
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
