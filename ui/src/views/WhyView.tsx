/** Why a connection of an allocation gets no more, in words. */

import type { Run } from "../data";
import type { Update } from "../selection";
import { priceText, rateText, shareText } from "../units";
import { costText, type Other, type Reason, type Why, whyOf, worthText } from "../why";
import { ConnectionName, LinkName } from "./LinkName";
import { PathLinks } from "./PathLinks";
import { Term } from "./Term";

interface Props {
  run: Run;
  connection: number;
  update: Update;
  /** What the section is called: by default the chosen connection. */
  label?: string;
  /** Whether only the reason and the largest subflows are told. */
  brief?: boolean;
}

/** So many subflows are told of in brief. */
const BRIEF = 3;

/** Of more others on a link the rest is counted. */
const MOST = 6;

export function WhyView({ run, connection, update, label = "chosen connection", brief = false }: Props) {
  const why = whyOf(run, connection);
  const { connections } = run.header;
  const asked = why.demand === null ? "and has no demand limit" : `of its demand of ${rateText(why.demand)}`;
  return (
    <section class="details why" aria-label={label}>
      <h3>Why does {connections.name[connection]} get no more?</h3>
      <p>
        It gets <b>{rateText(why.rate)}</b> {asked}
        {why.demand ? ` (${shareText(why.rate / why.demand)})` : ""}; its <Term of="level" /> is {rateText(why.level)}
        {connections.claim && connections.claim[connection] !== 1 ? (
          <>
            , by a <Term of="claim" /> of {connections.claim[connection]}
          </>
        ) : null}
        .
      </p>
      {why.isPriced ? <Worth run={run} connection={connection} why={why} /> : null}
      {why.isMet ? <p class="because">Its demand is met.</p> : null}
      {why.reasons.length ? null : <p class="because">It has no path.</p>}
      {groups(why).map((reasons) => (
        <div key={reasons[0]?.subflow}>
          {why.isPriced || why.isMet || !reasons[0] ? null : (
            <Held {...{ run, reason: reasons[0], why, update, brief }} />
          )}
          <ol start={reasons[0] && why.reasons.indexOf(reasons[0]) + 1}>
            {(brief ? reasons.slice(0, BRIEF) : reasons).map((reason) => (
              <li key={reason.subflow} value={why.reasons.indexOf(reason) + 1}>
                <b>{rateText(reason.rate)}</b> over{" "}
                <PathLinks run={run} path={run.header.subflows.path[reason.subflow] ?? []} update={update} />
                {why.isPriced ? <Cost {...{ run, reason, why, update }} /> : null}
              </li>
            ))}
          </ol>
        </div>
      ))}
    </section>
  );
}

/** Subflows with the same bottleneck, which is told of once; with prices or a demand that is met, all together. */
function groups(why: Why): Reason[][] {
  if (why.isPriced || why.isMet) return [why.reasons];
  const by = new Map<number | null, Reason[]>();
  for (const reason of why.reasons) by.set(reason.bottleneck, [...(by.get(reason.bottleneck) ?? []), reason]);
  return [...by.values()];
}

/** What holds a subflow back: the full link, and why nobody there has to give way. */
function Held({
  run,
  reason,
  why,
  update,
  brief,
}: {
  run: Run;
  reason: Reason;
  why: Why;
  update: Update;
  brief: boolean;
}) {
  const { bottleneck, others } = reason;
  if (bottleneck === null) {
    return (
      <p class="because held">This subflow has no bottleneck to the tolerance: the allocation is not fair to it.</p>
    );
  }
  const lower = others.length - reason.level;
  const capacity = run.header.links.capacity_bps[bottleneck];
  return (
    <div class="held">
      <p class="because">
        <LinkName run={run} link={bottleneck} update={update} />{" "}
        {capacity ? `is full, with ${rateText(capacity)}` : "has no capacity"}
        {others.length === 0
          ? ", and nobody else sends over it."
          : `. Nobody there has a greater level than ${rateText(why.level)}: of ${others.length} ${others.length === 1 ? "other" : "others"}, ${reason.level} ${reason.level === 1 ? "is" : "are"} at the same level and ${lower} lower, held back elsewhere or by their demands. To give this connection more, the link would have to take from another one that has no more.`}
      </p>
      {brief ? null : <Others {...{ run, link: bottleneck, others, update }} />}
    </div>
  );
}

/** Who else sends over a link. */
function Others({ run, link, others, update }: { run: Run; link: number; others: Other[]; update: Update }) {
  return (
    <>
      {others.length ? <p class="facts">Others on {run.header.links.name[link]}:</p> : null}
      <ul class="others">
        {others.slice(0, MOST).map((other) => (
          <li key={other.connection}>
            <ConnectionName run={run} connection={other.connection} update={update} /> <b>{rateText(other.rate)}</b>
            <em> · level {rateText(other.level)}</em>
          </li>
        ))}
      </ul>
      {others.length > MOST ? <p class="more">and {others.length - MOST} more</p> : null}
    </>
  );
}

/** What one more unit of rate is worth to a connection, and what it would cost. */
function Worth({ run, connection, why }: { run: Run; connection: number; why: Why }) {
  const alpha = Number(run.header.summary?.alpha ?? 1);
  const worth = run.header.connections.marginal_utility?.[connection];
  return (
    <p class="because">
      One more unit of rate would be worth {priceText(worth, alpha)} to it.{" "}
      {worthText(why, Number(run.header.summary?.tolerance ?? 0))}
    </p>
  );
}

/** What a path costs by what it is worth, and who charges that. */
function Cost({ run, reason, why, update }: { run: Run; reason: Reason; why: Why; update: Update }) {
  const tolerance = Number(run.header.summary?.tolerance ?? 0);
  return (
    <p class="because">
      {costText(why, reason, tolerance)}
      {reason.charges.length ? " Charged by " : ""}
      {reason.charges.map(({ link, share }, i) => (
        <span key={link}>
          {i ? ", " : ""}
          <LinkName {...{ run, link, update }} /> ({shareText(share)})
        </span>
      ))}
      {reason.charges.length ? "." : ""}
    </p>
  );
}
