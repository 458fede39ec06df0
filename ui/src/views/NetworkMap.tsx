/** The network: each link is half of an edge, coloured by utilisation; queues are discs where they wait. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Inks } from "../colours";
import type { Palette, Run } from "../data";
import { draw } from "../drawing";
import { distance, fitted, halves, lanes, linkWidths, type Point, type View, zoomed } from "../geometry";
import { utilisation } from "../selection";
import { rateText, shareText, sizeText } from "../units";

interface Props {
  run: Run;
  sample: number;
  /** The connection to be lit, by number. */
  lit: number | null;
  palette: Palette;
  several: boolean;
  own: Inks;
}

const NEAR = 8;

export function NetworkMap(props: Props) {
  const { run, sample, lit, own } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const [size, setSize] = useState({ width: 0, height: 0 });
  const [view, setView] = useState<View | null>(null);
  const [pointed, setPointed] = useState<number | null>(null);
  const drag = useRef<Point | null>(null);
  const { nodes, links } = run.header;
  const room = Math.sqrt((size.width * size.height) / Math.max(nodes.name.length, 1));
  const most = Math.min(Math.max(0.1 * room, 2), 9);
  const widths = useMemo(() => linkWidths(links, Math.max(1, most / 3), most), [links, most]);
  const beside = useMemo(() => lanes(links, widths), [links, widths]);
  const { width, height } = size;
  const shown = useMemo(() => view ?? fitted(nodes, width, height), [view, nodes, width, height]);
  const lines = useMemo(() => halves(nodes, links, beside, shown), [nodes, links, beside, shown]);

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setSize({ width: element.clientWidth, height: element.clientHeight }));
    watch.observe(element);
    // Not passive, so that the page does not scroll while the map zooms.
    const wheel = (event: WheelEvent) => {
      event.preventDefault();
      const about = { x: event.offsetX, y: event.offsetY };
      const { clientWidth, clientHeight } = element;
      setView((old) => zoomed(old ?? fitted(nodes, clientWidth, clientHeight), 0.998 ** event.deltaY, about));
    };
    element.addEventListener("wheel", wheel, { passive: false });
    return () => {
      watch.disconnect();
      element.removeEventListener("wheel", wheel);
    };
  }, [nodes]);

  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!canvas.current || !context || !size.width) return;
    const ratio = window.devicePixelRatio || 1;
    canvas.current.width = size.width * ratio;
    canvas.current.height = size.height * ratio;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw(context, { ...props, view: shown, lines, widths, beside, room });
  });

  const move = (event: PointerEvent) => {
    const here = { x: event.offsetX, y: event.offsetY };
    if (drag.current && event.buttons) {
      setView({ ...shown, x: shown.x + here.x - drag.current.x, y: shown.y + here.y - drag.current.y });
      drag.current = here;
      return;
    }
    setPointed(nearest(lines, here));
  };
  const zoom = (factor: number) =>
    setView(factor ? zoomed(shown, factor, { x: size.width / 2, y: size.height / 2 }) : null);

  return (
    <figure class="map">
      <canvas
        ref={canvas}
        role="img"
        aria-label={`network of ${nodes.name.length} nodes and ${links.name.length} links`}
        onPointerDown={(event) => {
          drag.current = { x: event.offsetX, y: event.offsetY };
        }}
        onPointerMove={move}
        onPointerLeave={() => setPointed(null)}
      />
      <figcaption>
        <div class="fact">
          {pointed !== null ? (
            <LinkFacts run={run} link={pointed} sample={sample} />
          ) : lit !== null ? (
            `${run.header.connections.name[lit]}: its paths; bottlenecks have a rim`
          ) : (
            <Legend palette={props.palette} ink={own.ink} />
          )}
        </div>
        <div class="zoom">
          <button type="button" aria-label="zoom in" onClick={() => zoom(1.5)}>
            +
          </button>
          <button type="button" aria-label="zoom out" onClick={() => zoom(1 / 1.5)}>
            −
          </button>
          <button type="button" aria-label="whole network" onClick={() => zoom(0)}>
            ⤢
          </button>
        </div>
      </figcaption>
    </figure>
  );
}

function Legend({ palette, ink }: { palette: Palette; ink: string }) {
  return (
    <span class="legend">
      load / capacity 0 %
      <span class="ramp" style={{ background: `linear-gradient(to right, ${palette.utilisation.join(",")})` }} />
      100 % · rim: full · <span class="disc" style={{ background: ink }} /> queue
    </span>
  );
}

function LinkFacts({ run, link, sample }: { run: Run; link: number; sample: number }) {
  const { links } = run.header;
  const backlog = run.table("link", "backlog_bytes")?.at(link, sample);
  const facts = [
    `${shareText(utilisation(run, link, sample))} of ${rateText(links.capacity_bps[link] ?? Number.POSITIVE_INFINITY)}`,
    ...(backlog === undefined ? [] : [`${sizeText(backlog)} waiting`]),
  ];
  return (
    <span>
      <b>{links.name[link]}</b>: {facts.join(", ")}
    </span>
  );
}

function nearest(lines: [Point, Point][], here: Point): number | null {
  let [best, least]: [number | null, number] = [null, NEAR];
  lines.forEach((line, link) => {
    const far = distance(here, line);
    if (far < least) [best, least] = [link, far];
  });
  return best;
}
