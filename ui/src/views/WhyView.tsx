/** Why a connection of an allocation gets no more, in words. */

import type { Run } from "../data";
import type { Update } from "../selection";
import { priceText, rateText, shareText } from "../units";
import {
  costText,
  groupsOf,
  levelText,
  type Other,
  othersText,
  type Reason,
  verdictText,
  type Why,
  whyOf,
  worthText,
} from "../why";
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
        {why.demand ? ` (${shareText(why.rate / why.demand)})` : ""}; its <Term of="level" /> is {levelText(why.level)}
        {connections.claim && connections.claim[connection] !== 1 ? (
          <>
            , by a <Term of="claim" /> of {connections.claim[connection]}
          </>
        ) : null}
        {connections.reserved_bps?.[connection]
          ? `, besides ${rateText(connections.reserved_bps[connection])} that are reserved`
          : ""}
        .
      </p>
      {why.isPriced ? <Worth run={run} connection={connection} why={why} /> : null}
      {why.isMet ? <p class="because">Its demand is met.</p> : null}
      {why.reasons.length ? null : <p class="because">It has no path.</p>}
      {why.isPriced || why.isMet ? null : <p class="because">{verdictText(why)}</p>}
      {groupsOf(why).map(({ reasons, before }) => (
        <div key={reasons[0]?.subflow}>
          {why.isPriced || why.isMet || !reasons[0] ? null : <Held {...{ run, reasons, update, brief }} />}
          <ol start={before + 1}>
            {(brief ? reasons.slice(0, BRIEF) : reasons).map((reason) => (
              <li key={reason.subflow}>
                <b>{rateText(reason.rate)}</b> over{" "}
                <PathLinks run={run} path={run.header.subflows.path[reason.subflow] ?? []} update={update} />
                {why.isPriced ? <Cost {...{ run, reason, why, update }} /> : null}
              </li>
            ))}
          </ol>
          {brief && reasons.length > BRIEF ? <p class="more">and {reasons.length - BRIEF} more</p> : null}
        </div>
      ))}
    </section>
  );
}

/** What holds some subflows back: the full link, and who else is there. */
function Held({ run, reasons, update, brief }: { run: Run; reasons: Reason[]; update: Update; brief: boolean }) {
  const { bottleneck, others, level } = reasons[0] as Reason;
  if (bottleneck === null) {
    const which = reasons.length === 1 ? "This subflow has" : "These subflows have";
    return (
      <p class="because held">
        {which} no bottleneck to the tolerance: the allocation is not fair to {reasons.length === 1 ? "it" : "them"}.
      </p>
    );
  }
  const capacity = run.header.links.capacity_bps[bottleneck];
  return (
    <div class="held">
      <p class="because">
        <LinkName run={run} link={bottleneck} update={update} />{" "}
        {capacity ? `is full, with ${rateText(capacity)}` : "has no capacity"}
        {others.length ? `. ${othersText(others.length, level)}` : ", and nobody else sends over it."}
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
            <em> · level {levelText(other.level)}</em>
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
