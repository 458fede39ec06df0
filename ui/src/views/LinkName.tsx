/** The name of a link, which chooses it. */

import type { Run } from "../data";
import type { Update } from "../selection";

export function LinkName({ run, link, update }: { run: Run; link: number; update: Update }) {
  const name = run.header.links.name[link] ?? "";
  return (
    <button type="button" class="plain name" onClick={() => update({ link: name, hovered: null })}>
      {name}
    </button>
  );
}

/** The name of a connection, which chooses it; pointing at it lights its paths. */
export function ConnectionName({ run, connection, update }: { run: Run; connection: number; update: Update }) {
  const name = run.header.connections.name[connection] ?? "";
  return (
    <button
      type="button"
      class="plain name"
      onClick={() => update({ chosen: name, link: null, hovered: null })}
      onMouseEnter={() => update({ hovered: name })}
      onMouseLeave={() => update({ hovered: null })}
    >
      {name}
    </button>
  );
}
