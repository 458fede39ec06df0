/** A link at an instant: what it carries and of what capacity, what waits, what it charges. */

import type { Run } from "../data";
import { capacityAt, loadsOf, utilisation } from "../selection";
import { priceText, rateText, shareText, sizeText, spanText } from "../units";

export function LinkFacts({ run, link, sample }: { run: Run; link: number; sample: number }) {
  return (
    <span>
      <b>{run.header.links.name[link]}</b>: {linkFacts(run, link, sample).join(", ")}
    </span>
  );
}

/** What is to be said of a link, in words. */
export function linkFacts(run: Run, link: number, sample: number): string[] {
  const { links, summary } = run.header;
  const backlog = run.table("link", "backlog_bytes")?.at(link, sample);
  const price = links.price?.[link];
  const delay = links.delay_s[link];
  const dropped = links.dropped?.[link];
  return [
    loadText(run, link, sample),
    ...(backlog === undefined || Number.isNaN(backlog) ? [] : [`${sizeText(backlog)} waiting`]),
    ...(delay ? [`delay ${spanText(delay)}`] : []),
    ...(dropped ? [`${dropped} packets dropped in all`] : []),
    ...(price ? [`price ${priceText(price, Number(summary?.alpha ?? 1))}`] : []),
  ];
}

/** What a link carries, of what capacity; or that it was not recorded. */
function loadText(run: Run, link: number, sample: number): string {
  const capacity = rateText(capacityAt(run, link, sample));
  const share = utilisation(run, link, sample);
  if (Number.isNaN(share)) return `capacity ${capacity}, load was not recorded`;
  return `${shareText(share)} of ${capacity}${loadsOf(run) === "mean" ? ", the mean after the warm-up" : ""}`;
}
