/** What the author of a scenario says of it. */

import { useMemo } from "preact/hooks";
import { blocksOf, piecesOf } from "../description";

export function Description({ text }: { text: string }) {
  const blocks = useMemo(() => blocksOf(text), [text]);
  if (!blocks.length) return null;
  return (
    <section class="description" aria-label="description">
      {blocks.map((block, i) => {
        if (block.kind === "drawing") {
          return (
            <pre key={i} class={block.text.includes("\n") ? "" : "line"}>
              {block.text}
            </pre>
          );
        }
        if (block.kind === "paragraph") {
          return (
            <p key={i}>
              <Pieces text={block.text} />
            </p>
          );
        }
        return (
          <ul key={i}>
            {block.items.map((item) => (
              <li key={item}>
                <Pieces text={item} />
              </li>
            ))}
          </ul>
        );
      })}
    </section>
  );
}

/** Words, with code between backquotes as code. */
export function Pieces({ text }: { text: string }) {
  return <>{piecesOf(text).map((piece, i) => (piece.code ? <code key={i}>{piece.text}</code> : piece.text))}</>;
}
