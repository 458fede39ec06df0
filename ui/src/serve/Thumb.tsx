/** A small picture of a run, an allocation or a scenario: rates over time, or the network. */

import { type Inks, legible, utilisationColour, utilisationRamp } from "../colours";
import type { Palette } from "../data";
import type { MapPicture, Picture, RatesPicture } from "./server";

const WIDTH = 320;
const HEIGHT = 128;
const EDGE = 12;
/** Of more nodes than these only the cables are drawn. */
const MOST_NODES = 400;
/** Cables that lie side by side are drawn apart, up to this number. */
const MOST_BESIDE = 4;

interface Props {
  picture: Picture | null;
  palette: Palette;
  own: Inks;
}

export function Thumb({ picture, palette, own }: Props) {
  if (!picture) return <div class="thumb" />;
  return (
    <svg class="thumb" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} aria-hidden="true">
      {picture.kind === "rates" ? <Rates picture={picture} own={own} /> : null}
      {picture.kind === "map" ? <Network picture={picture} palette={palette} own={own} /> : null}
    </svg>
  );
}

function Rates({ picture, own }: { picture: RatesPicture; own: Inks }) {
  const { bins, lines } = picture;
  const most = picture.most || 1;
  const at = ([bin, value]: [number, number]) => {
    const x = EDGE + ((bin + 0.5) / bins) * (WIDTH - 2 * EDGE);
    const y = HEIGHT - EDGE - (value / most) * (HEIGHT - 2 * EDGE);
    return `${x.toFixed(1)},${y.toFixed(1)}`;
  };
  return (
    <>
      <line x1={EDGE} y1={HEIGHT - EDGE} x2={WIDTH - EDGE} y2={HEIGHT - EDGE} stroke={own.line} />
      {lines.map((line) => (
        <polyline
          key={line.name}
          points={line.points.map(at).join(" ")}
          fill="none"
          stroke={legible(line.colour, own)}
          stroke-width={lines.length > 4 ? 1.5 : 2}
          stroke-linejoin="round"
        />
      ))}
    </>
  );
}

function Network({ picture, palette, own }: { picture: MapPicture; palette: Palette; own: Inks }) {
  const ramp = utilisationRamp(palette, own);
  const at = fitted(picture.nodes);
  const many = picture.nodes.length > 40;
  return (
    <>
      {[...picture.cables]
        .reverse()
        .map(([a, b, share, count]) =>
          besides(at[a] as Place, at[b] as Place, count).map(([from, to], i) => (
            <line
              key={`${a} ${b} ${i}`}
              x1={from[0]}
              y1={from[1]}
              x2={to[0]}
              y2={to[1]}
              stroke={share > 0 ? utilisationColour(share, ramp) : own.soft}
              stroke-width={many ? 1 : 2.5}
              stroke-linecap="round"
            />
          )),
        )}
      {(at.length > MOST_NODES ? [] : at).map(([x, y], i) => (
        <circle
          key={i}
          cx={x}
          cy={y}
          r={many ? 1.5 : 5}
          fill={many ? own.ink : own.paper}
          stroke={own.ink}
          stroke-width={many ? 0 : 1.5}
        />
      ))}
    </>
  );
}

type Place = [number, number];

/** The places of nodes in the picture: as large as they can be, and in its middle. */
function fitted(nodes: Place[]): Place[] {
  const xs = nodes.map(([x]) => x);
  const ys = nodes.map(([, y]) => y);
  const [left, low] = [Math.min(...xs), Math.min(...ys)];
  const [width, height] = [Math.max(...xs) - left, Math.max(...ys) - low];
  const inner = [WIDTH - 4 * EDGE, HEIGHT - 3 * EDGE] as const;
  const scale = Math.min(width ? inner[0] / width : Infinity, height ? inner[1] / height : Infinity);
  const own = Number.isFinite(scale) ? scale : 1;
  return nodes.map(([x, y]) => [WIDTH / 2 + (x - left - width / 2) * own, HEIGHT / 2 - (y - low - height / 2) * own]);
}

/** A line for each of the cables between two nodes. */
function besides(a: Place, b: Place, count: number): [Place, Place][] {
  const lines = Math.min(count, MOST_BESIDE);
  const length = Math.hypot(b[0] - a[0], b[1] - a[1]) || 1;
  const [across, along] = [-(b[1] - a[1]) / length, (b[0] - a[0]) / length];
  return Array.from({ length: lines }, (_, i) => {
    const apart = (i - (lines - 1) / 2) * 7;
    const move = ([x, y]: Place): Place => [x + across * apart, y + along * apart];
    return [move(a), move(b)];
  });
}
