/** The chosen link: what it carries, and for whom; it stays in sight below what one reads. */

import type { Run } from "../data";
import { ratesOver, type Update } from "../selection";
import { rateText } from "../units";
import { levelText } from "../why";
import { linkFacts } from "./LinkFacts";
import { ConnectionName } from "./LinkName";

/** Of more connections the rest is counted. */
const MOST = 8;

export function LinkDetails({ run, link, sample, update }: { run: Run; link: number; sample: number; update: Update }) {
  const over = ratesOver(run, link, sample);
  const sending = over.filter(({ rate }) => rate > 0);
  const level = run.header.connections.level_bps;
  return (
    <section class="details card" aria-label="chosen link">
      <button type="button" class="close" aria-label="close" onClick={() => update({ link: null })}>
        ×
      </button>
      <h3>{run.header.links.name[link]}</h3>
      <p class="facts">{linkFacts(run, link, sample).join(" · ")}</p>
      <p>{whoSends(run, sending.length, over.length)}</p>
      <ul class="others">
        {sending.slice(0, MOST).map(({ connection, rate }) => (
          <li key={connection}>
            <ConnectionName {...{ run, connection, update }} /> <b>{rateText(rate)}</b>
            {level ? <em> · level {levelText(level[connection] ?? 0)}</em> : null}
          </li>
        ))}
      </ul>
      {sending.length > MOST ? <p class="more">and {sending.length - MOST} more, of smaller rates</p> : null}
    </section>
  );
}

function whoSends(run: Run, sending: number, all: number): string {
  const have = all === 1 ? "1 connection has" : `${all} connections have`;
  if (!run.variables("subflow").includes("granted_bps")) return `${have} a path over it; rates were not recorded.`;
  if (all === 0) return "No connection has a path over it.";
  return `${sending === 1 ? "1 connection sends" : `${sending} connections send`} over it, of ${all} with a path there.`;
}
