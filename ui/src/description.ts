/**
 * The description of a scenario as paragraphs, lists and drawings.
 *
 * It is plain text with a little of Markdown: an empty line ends a paragraph, `- ` begins an item of a list, backquotes
 * hold code, and lines indented by two spaces or more are a drawing, which keeps its spaces. Everything else is shown
 * as it stands.
 */

export type Block =
  | { kind: "paragraph"; text: string }
  | { kind: "list"; items: string[] }
  | { kind: "drawing"; text: string };

/** Words and code in their order. */
export type Piece = { code: boolean; text: string };

export function blocksOf(description: string): Block[] {
  const lines = description.replaceAll("\r", "").replaceAll("\t", "    ").split("\n");
  const blocks: Block[] = [];
  let gap = true;
  for (const line of lines) {
    const last = blocks[blocks.length - 1];
    const text = line.trim();
    if (!text) {
      gap = true;
      // A drawing may have empty lines within.
      if (last?.kind === "drawing") last.text += "\n";
      continue;
    }
    if (/^ {2,}/.test(line) && !(last?.kind === "list" && !gap)) {
      if (last?.kind === "drawing") last.text += `\n${line.trimEnd()}`;
      else blocks.push({ kind: "drawing", text: line.trimEnd() });
    } else if (/^\s*[-*] /.test(line)) {
      const item = text.slice(2).trim();
      if (last?.kind === "list") last.items.push(item);
      else blocks.push({ kind: "list", items: [item] });
    } else if (last?.kind === "list" && !gap) {
      last.items.push(`${last.items.pop()} ${text}`);
    } else if (last?.kind === "paragraph" && !gap) {
      last.text += ` ${text}`;
    } else {
      blocks.push({ kind: "paragraph", text });
    }
    gap = false;
  }
  return blocks.map((block) => (block.kind === "drawing" ? { ...block, text: undented(block.text) } : block));
}

/** A drawing without the spaces that all its lines begin with, and without empty lines at its end. */
function undented(drawing: string): string {
  const lines = drawing.replace(/\n+$/, "").split("\n");
  const least = Math.min(...lines.filter((line) => line.trim()).map((line) => line.search(/\S/)));
  return lines.map((line) => line.slice(least)).join("\n");
}

/** A text in pieces: what stands between backquotes is code. */
export const piecesOf = (text: string): Piece[] =>
  text
    .split(/`([^`]+)`/)
    .map((piece, i) => ({ code: i % 2 === 1, text: piece }))
    .filter(({ text: own }) => own !== "");
