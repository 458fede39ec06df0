/** A run on a card: picture, title, what it shows, protocols, numbers, and what can be done with it. */

import type { Inks } from "../colours";
import type { Palette } from "../data";
import { spanText } from "../units";
import { Pieces } from "../views/Description";
import { factsOfRun, nameOf, numbersOf, numbersOfSummary, whenText } from "./glance";
import { hashOf } from "./route";
import type { RunCard as Card, RunFacts } from "./server";
import { Thumb } from "./Thumb";
import { useCard } from "./useCard";

interface Props {
  run: RunFacts;
  chosen: boolean;
  choose: (on: boolean) => void;
  /** What asks before a run is renamed, or deleted. */
  rename: () => void;
  remove: () => void;
  palette: Palette;
  own: Inks;
}

export function RunCard({ run, chosen, choose, rename, remove, palette, own }: Props) {
  const path = `api/runs/${encodeURIComponent(run.id)}/card`;
  const { place, card, failed } = useCard<Card>(path, `${run.written} ${run.bytes}`);
  const href = hashOf({ at: "runs", ids: [run.id] });
  const numbers = card?.headline ? numbersOf(card.headline) : card?.summary ? numbersOfSummary(card.summary) : [];
  return (
    <article class={chosen ? "tile chosen" : "tile"} aria-label={run.folder} ref={place}>
      <div class="picture">
        {failed ? <p class="failed">{failed}</p> : <Thumb {...{ palette, own }} picture={card?.picture ?? null} />}
      </div>
      <div class="words">
        <h3>
          <a href={href}>{nameOf(run)}</a>
        </h3>
        <p class="protocols-of">
          {protocolsText(run.protocols)}
          {stateText(run)}
        </p>
        {run.description ? (
          <p class="sentence">
            <Pieces text={run.description} />
          </p>
        ) : null}
      </div>
      <dl class="numbers">
        {numbers.map(({ label, text, title }) => (
          <div key={label} title={title}>
            <dd>{text}</dd>
            <dt>{label}</dt>
          </div>
        ))}
      </dl>
      <footer>
        <label class="choose">
          <input
            type="checkbox"
            aria-label={`choose ${run.folder}`}
            checked={chosen}
            onChange={(event) => choose(event.currentTarget.checked)}
          />{" "}
          <span title={`the folder of the run; written ${whenText(run.written)}`}>{run.folder}</span>
        </label>
        <span class="small">
          <time>{whenText(run.written)}</time> · {factsOfRun(run).join(" · ")}
        </span>
        <span class="deeds">
          <button type="button" class="plain" aria-label={`rename ${run.folder}`} onClick={rename}>
            rename
          </button>
          <button type="button" class="plain" aria-label={`delete ${run.folder}`} onClick={remove}>
            delete
          </button>
        </span>
      </footer>
    </article>
  );
}

/** The first names, and how many more there are. */
function protocolsText(protocols: string[]): string {
  const more = protocols.length - 3;
  return protocols.slice(0, 3).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** What is out of the ordinary about a run. */
function stateText(run: RunFacts): string {
  const parts = run.kind === "allocation" ? ["allocation"] : [];
  if (run.kind === "allocation" && run.warnings) parts.push("not certified");
  if (!run.finished) parts.push(`stopped at ${spanText(run.reached_s ?? 0)}`);
  if (run.kind === "run" && run.warnings) parts.push(`${run.warnings} ${run.warnings === 1 ? "warning" : "warnings"}`);
  return parts.map((part) => ` · ${part}`).join("");
}
