/** The keys and what the pointer does, over the page. */

import { useLayoutEffect, useRef } from "preact/hooks";

const KEYS: [string, string][] = [
  ["space", "play or pause"],
  ["← →", "previous or next sample"],
  ["Home End", "first or last sample"],
  ["/", "go to the filter"],
  ["Esc", "clear the choice; show the whole time"],
  ["?", "show the keys"],
  ["on the map: arrows + − 0", "move, zoom, the whole network"],
];
const POINTER: [string, string][] = [
  ["click on a connection", "its paths, subflows and bottlenecks"],
  ["click on a link", "its connections, load and queue"],
  ["drag, wheel, pinch on the map", "move and zoom"],
  ["click into a chart", "go to that time"],
  ["drag over a chart", "zoom into a part of the time; double click: the whole time"],
];

export function Help({ onClose }: { onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  return (
    <dialog ref={dialog} aria-label="keys" onClose={onClose}>
      <h2>Keys</h2>
      <Pairs pairs={KEYS} />
      <h2>Pointer</h2>
      <Pairs pairs={POINTER} />
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
