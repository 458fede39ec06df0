/** The network: each link is half of an edge, coloured by utilisation; queues are discs where they wait. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import { type Inks, utilisationRamp } from "../colours";
import type { Nodes, Palette, Run } from "../data";
import { draw } from "../drawing";
import { distanceTo, fitted, halves, lanes, linkWidths, type Point, placed, type View, zoomed } from "../geometry";
import { moved } from "../gestures";
import { drawSmall } from "../pipe_drawing";
import { curveOf, fittedSmall, isFlat, isSmall, pipesOf, spread } from "../pipes";
import { fileName, savePicture } from "../save";
import type { Scales } from "../scales";
import { loadsOf } from "../selection";
import { sizeText } from "../units";
import { LinkFacts } from "./LinkFacts";
import { Term } from "./Term";

interface Props {
  run: Run;
  sample: number;
  /** The connections to be lit, by number; null for none in particular. */
  lit: number[] | null;
  /** The chosen link. */
  link: number | null;
  /** What is said of what is lit. */
  told: string | null;
  colourOf: (connection: number) => string;
  onLink: (link: number | null) => void;
  palette: Palette;
  own: Inks;
  scales: Scales;
}

/** So near is at a link or a node. */
const NEAR = 8;
/** A pointer that has moved farther than this between down and up drags, and does not choose. */
const STILL = 5;
const STEP = 60;

export function NetworkMap(props: Props) {
  const { run, sample, told, own, scales, onLink } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [view, setView] = useState<View | null>(null);
  const [pointed, setPointed] = useState<Pointed>({});
  const fingers = useRef(new Map<number, Point>());
  const way = useRef(0);
  const { links } = run.header;
  const { width, height } = size;
  const small = isSmall(run.header);
  const nodes = useMemo(
    () => (small ? spread(run.header.nodes, width, height) : run.header.nodes),
    [small, run, width, height],
  );
  const room = Math.sqrt((width * height) / Math.max(nodes.name.length, 1));
  const most = Math.min(Math.max(0.1 * room, 2), 9);
  const widths = useMemo(
    () => linkWidths(links, scales.capacity_bps, Math.max(1, most / 3), most),
    [links, scales, most],
  );
  const beside = useMemo(() => lanes(links, widths), [links, widths]);
  const pipes = useMemo(() => (small ? pipesOf(run, scales.capacity_bps) : []), [small, run, scales]);
  const whole = useMemo(() => (small ? fittedSmall : fitted)(nodes, width, height), [small, nodes, width, height]);
  const shown = view ?? whole;
  const lines = useMemo(() => (small ? [] : halves(nodes, links, beside, shown)), [small, nodes, links, beside, shown]);
  const targets = useMemo(
    () =>
      small
        ? pipes.map((pipe) => ({
            link: pipe.link,
            line: curveOf(pipe, nodes, links, shown),
            near: NEAR + pipe.width / 2,
          }))
        : lines.map((line, link) => ({ link, line, near: NEAR })),
    [small, pipes, lines, shown, nodes, links],
  );
  const change = (by: (view: View) => View) => setView((old) => by(old ?? whole));
  const latest = useRef(change);
  latest.current = change;

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    watch.observe(element);
    // Not passive, so that the page does not scroll while the map zooms.
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const about = { x: event.offsetX, y: event.offsetY };
      latest.current((old) => zoomed(old, 0.998 ** event.deltaY, about));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      watch.disconnect();
      element.removeEventListener("wheel", wheel);
    };
  }, []);

  useEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || !width) return;
    const ratio = window.devicePixelRatio || 1;
    // Only where it differs: to set the size clears the canvas and makes its memory anew.
    if (element.width !== Math.round(width * ratio)) element.width = Math.round(width * ratio);
    if (element.height !== Math.round(height * ratio)) element.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    // Zoomed in, nodes and discs grow with the network, but less.
    const near = room * Math.min(Math.max(Math.sqrt(shown.scale / whole.scale), 0.7), 3);
    const drawing = { ...props, view: { ...shown, width, height }, lines, widths, beside, room: near };
    if (small) drawSmall(context, { ...drawing, pipes, nodes });
    else draw(context, drawing);
  });

  const down = (event: PointerEvent) => {
    if (event.button !== 0) return;
    canvas.current?.setPointerCapture(event.pointerId);
    fingers.current.set(event.pointerId, placeOf(event));
    way.current = fingers.current.size > 1 ? Number.POSITIVE_INFINITY : 0;
  };
  const move = (event: PointerEvent) => {
    const here = placeOf(event);
    const before = fingers.current.get(event.pointerId);
    if (!before) {
      setPointed(pointedAt(nodes, targets, shown, here));
      return;
    }
    const there = new Map(fingers.current);
    way.current += Math.hypot(here.x - before.x, here.y - before.y);
    if (way.current > STILL) change((old) => moved(old, there, event.pointerId, here));
    fingers.current.set(event.pointerId, here);
  };
  const up = (event: PointerEvent) => {
    if (!fingers.current.delete(event.pointerId) || event.type !== "pointerup" || way.current > STILL) return;
    onLink(nearest(targets, placeOf(event)));
  };
  const zoom = (factor: number) => change((old) => zoomed(old, factor, { x: width / 2, y: height / 2 }));
  const press = (event: KeyboardEvent) => {
    const steps: Record<string, () => void> = {
      ArrowLeft: () => change((old) => ({ ...old, x: old.x + STEP })),
      ArrowRight: () => change((old) => ({ ...old, x: old.x - STEP })),
      ArrowUp: () => change((old) => ({ ...old, y: old.y + STEP })),
      ArrowDown: () => change((old) => ({ ...old, y: old.y - STEP })),
      "+": () => zoom(1.5),
      "-": () => zoom(1 / 1.5),
      "0": () => setView(null),
    };
    const step = event.ctrlKey || event.metaKey || event.altKey ? undefined : steps[event.key];
    if (!step) return;
    step();
    event.preventDefault();
    event.stopPropagation();
  };
  const picture = () => {
    const title = `${run.header.name}: the network`;
    if (canvas.current) savePicture(canvas.current, { title, keys: [], own, name: fileName(title, "png") });
  };

  return (
    <figure class={`map ${small ? "small" : ""} ${small && isFlat(run.header.nodes, pipes) ? "flat" : ""}`}>
      <canvas
        ref={canvas}
        tabIndex={0}
        role="img"
        aria-label={`network of ${nodes.name.length} nodes and ${links.name.length} links; arrows move it, + and − zoom, 0 shows it whole`}
        class={pointed.link === undefined ? "" : "at-link"}
        onPointerDown={down}
        onPointerMove={move}
        onPointerUp={up}
        onPointerCancel={up}
        onPointerLeave={() => setPointed({})}
        onKeyDown={press}
      />
      <figcaption>
        <div class="fact">
          {pointed.node !== undefined ? (
            <b>{nodes.name[pointed.node]}</b>
          ) : pointed.link !== undefined ? (
            <LinkFacts run={run} link={pointed.link} sample={sample} />
          ) : (
            (told ?? <Legend {...{ run, own, scales, small }} ramp={utilisationRamp(props.palette, own)} />)
          )}
        </div>
        <div class="zoom">
          <button type="button" class="plain" aria-label="save the network as PNG" onClick={picture}>
            PNG
          </button>
          <button type="button" aria-label="zoom in" onClick={() => zoom(1.5)}>
            +
          </button>
          <button type="button" aria-label="zoom out" onClick={() => zoom(1 / 1.5)}>
            −
          </button>
          <button type="button" aria-label="whole network" onClick={() => setView(null)}>
            ⤢
          </button>
        </div>
      </figcaption>
    </figure>
  );
}

/** That loads are means over a run. */
function Mean() {
  return (
    <>
      , the mean after the <Term of="warmUp" />
    </>
  );
}

/** What colours and sizes on the map mean. */
function Legend({
  run,
  ramp,
  own,
  scales,
  small,
}: {
  run: Run;
  ramp: string[];
  own: Inks;
  scales: Scales;
  small: boolean;
}) {
  const loads = loadsOf(run);
  const most = scales.backlog_bytes;
  const hasQueues = run.table("link", "backlog_bytes") && most > 0;
  if (small) {
    const hasRates = run.variables("subflow").includes("granted_bps");
    return (
      <span class="legend">
        Width: <Term of="capacity" />
        {hasRates ? (
          ", filled with the rates of connections."
        ) : loads === "none" ? (
          "; load was not recorded."
        ) : (
          <>
            , filled by <Term of="utilisation" />
            {loads === "mean" ? <Mean /> : null}.
          </>
        )}
        {hasQueues ? ` Squares: bytes that wait; ten are ${sizeText(most)}, the longest queue.` : ""}
      </span>
    );
  }
  return (
    <span class="legend">
      {loads === "none" ? (
        "load was not recorded"
      ) : (
        <>
          <Term of="utilisation" />
          {loads === "mean" ? (
            <>
              <Mean />,
            </>
          ) : null}{" "}
          0 %
          <span class="ramp" style={{ background: `linear-gradient(to right, ${ramp.join(",")})` }} />
          100 %; a rim: full
        </>
      )}
      {hasQueues ? (
        <>
          ; <span class="disc" style={{ background: own.ink }} /> queue, the largest {sizeText(most)}
        </>
      ) : null}
      ; wider: more capacity
    </span>
  );
}

interface Pointed {
  node?: number;
  link?: number;
}

const placeOf = (event: PointerEvent): Point => ({ x: event.offsetX, y: event.offsetY });

/** A link on the canvas, and how near to its line counts as at it. */
interface Target {
  link: number;
  line: Point[];
  near: number;
}

function pointedAt(nodes: Nodes, targets: Target[], view: View, here: Point): Pointed {
  let [node, least]: [number | null, number] = [null, NEAR];
  nodes.name.forEach((_, i) => {
    const { x, y } = placed(nodes, i, view);
    const far = Math.hypot(here.x - x, here.y - y);
    if (far < least) [node, least] = [i, far];
  });
  if (node !== null) return { node };
  const link = nearest(targets, here);
  return link === null ? {} : { link };
}

function nearest(targets: Target[], here: Point): number | null {
  let [best, least]: [number | null, number] = [null, 1];
  for (const { link, line, near } of targets) {
    const far = distanceTo(here, line) / near;
    if (far < least) [best, least] = [link, far];
  }
  return best;
}
