/** The keys and what the pointer does, over the page. */

import { useLayoutEffect, useRef } from "preact/hooks";

const TIME: [string, string][] = [
  ["space", "play or pause"],
  ["← →", "previous or next sample"],
  ["Home End", "first or last sample"],
];
const KEYS: [string, string][] = [
  ["/", "go to the filter"],
  ["Esc", "clear what is chosen; show the whole time"],
  ["?", "show the keys"],
  ["on the map: arrows + − 0", "move, zoom, show the whole network"],
];
const POINTER: [string, string][] = [
  ["a dotted line below a word", "the word is explained at a click, a touch, or Enter"],
  ["click on a connection", "why it gets no more: its paths and their bottlenecks"],
  ["click on a link", "its connections, load and queue"],
  ["drag, wheel, pinch on the map", "move and zoom"],
];
const CHARTS: [string, string][] = [
  ["click into a chart", "go to that time"],
  ["drag over a chart", "zoom into a part of the time; double click: the whole time"],
];

export function Help({ onClose, hasTime }: { onClose: () => void; hasTime: boolean }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label="keys" onClose={onClose}>
      <h2>Keys</h2>
      <Pairs pairs={hasTime ? [...TIME, ...KEYS] : KEYS} />
      <h2>Pointer</h2>
      <Pairs pairs={hasTime ? [...POINTER, ...CHARTS] : POINTER} />
      <button type="button" onClick={onClose}>
        close
      </button>
    </dialog>
  );
}

function Pairs({ pairs }: { pairs: [string, string][] }) {
  return (
    <dl>
      {pairs.map(([key, does]) => (
        <div key={key}>
          <dt>{key}</dt>
          <dd>{does}</dd>
        </div>
      ))}
    </dl>
  );
}
