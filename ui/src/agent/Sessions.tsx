/** The sessions of an agent: what each is granted, what limits it and, of an opened one, why it has no more. */

import { Fragment } from "preact";
import { useEffect, useState } from "preact/hooks";

import type { State, Update } from "../selection";
import { rateText } from "../units";
import { type Known, limitText, measuredOf, type Session, titleOf } from "./agent";
import { ask, MOST_SESSIONS } from "./useAgent";

/** The most rows at a time; the filter finds the others. */
const MOST_ROWS = 200;

interface Props {
  known: Known;
  choice: Pick<State, "chosen" | "link">;
  update: Update;
}

export function Sessions({ known, choice, update }: Props) {
  const [filter, setFilter] = useState("");
  const { sessions, about } = known;
  const words = filter.toLowerCase().split(/\s+/);
  const isFound = (session: Session) => {
    const text = `${titleOf(session)} ${session.to} ${session.application ?? ""} ${limitText(session)}`.toLowerCase();
    return words.every((word) => text.includes(word));
  };
  const isOver = (session: Session) =>
    choice.link === null || session.paths.some((path) => path.links.includes(choice.link as string));
  const found = sessions.filter((session) => isFound(session) && isOver(session));
  const isMeasured = sessions.some((session) => measuredOf(session) !== null);
  return (
    <section class="table sessions" aria-label="sessions">
      <div class="title">
        <h2>Sessions{choice.link === null ? "" : ` over ${choice.link}`}</h2>
        {choice.link === null ? null : (
          <button type="button" onClick={() => update({ link: null })}>
            show all
          </button>
        )}
        <input
          type="search"
          aria-label="filter sessions"
          placeholder="filter"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
      </div>
      {sessions.length ? null : <p class="empty">There is no session.</p>}
      {sessions.length && !found.length ? <p class="empty">No session fits.</p> : null}
      {found.length ? (
        <table>
          <thead>
            <tr>
              <th scope="col">session</th>
              <th scope="col" class="minor">
                to
              </th>
              <th scope="col" class="number">
                granted
              </th>
              {isMeasured ? (
                <th scope="col" class="number">
                  measured
                </th>
              ) : null}
              <th scope="col" class="number minor">
                asks for
              </th>
              <th scope="col" class="number minor">
                paths
              </th>
              <th scope="col">limited by</th>
            </tr>
          </thead>
          <tbody>
            {found.slice(0, MOST_ROWS).map((session) => (
              <Row
                key={session.number}
                {...{ session, isMeasured }}
                isOpen={choice.chosen === titleOf(session)}
                turn={(isOpen) => update({ chosen: isOpen ? titleOf(session) : null })}
              />
            ))}
          </tbody>
        </table>
      ) : null}
      {found.length > MOST_ROWS ? <p class="more">and {found.length - MOST_ROWS} more: use the filter</p> : null}
      {sessions.length >= MOST_SESSIONS ? (
        <p class="more">
          The page shows {MOST_SESSIONS} of {about.sessions} sessions; <a href="api/v1/sessions">the interface</a> has
          all.
        </p>
      ) : null}
    </section>
  );
}

interface RowProps {
  session: Session;
  isMeasured: boolean;
  isOpen: boolean;
  turn: (isOpen: boolean) => void;
}

function Row({ session, isMeasured, isOpen, turn }: RowProps) {
  const { paths, to, rate_bps, demand_bps } = session;
  const working = paths.filter((path) => path.works).length;
  const demand = demand_bps === undefined ? "all it can get" : rateText(demand_bps);
  return (
    <Fragment>
      <tr class={`${isOpen ? "chosen" : ""} ${working ? "" : "bad"}`}>
        <th scope="row">
          <button type="button" class="plain" aria-expanded={isOpen} onClick={() => turn(!isOpen)}>
            <span class="turn" aria-hidden="true">
              {isOpen ? "▾" : "▸"}
            </span>
            {titleOf(session)}
          </button>
        </th>
        <td class="minor">{to}</td>
        <td class="number rate">{rateText(rate_bps)}</td>
        {isMeasured ? <td class="number">{rateText(measuredOf(session))}</td> : null}
        <td class="number minor">{demand}</td>
        <td class="number minor">
          {working} of {paths.length}
        </td>
        <td>{limitText(session)}</td>
      </tr>
      {isOpen ? (
        <tr class="opened">
          <td colSpan={isMeasured ? 7 : 6}>
            <p class="facts">
              to {to}; it asks for {demand}, with a weight of {session.weight}
              {session.reserved_bps ? `; ${rateText(session.reserved_bps)} of its rate is reserved` : ""}
            </p>
            <Why session={session} />
          </td>
        </tr>
      ) : null}
    </Fragment>
  );
}

interface Explained {
  why: { sentence: string; paths: { links: string[]; sentence: string }[] };
}

/** Why a session has no more, in the words of the agent. */
function Why({ session }: { session: Session }) {
  const [explained, setExplained] = useState<Explained | null>(null);
  useEffect(() => {
    let isOld = false;
    ask<Explained>(`api/v1/sessions/${session.number}`).then(
      (answer) => isOld || setExplained(answer),
      () => isOld || setExplained(null),
    );
    return () => {
      isOld = true;
    };
  }, [session]);
  if (!explained) return <p class="empty">asking the agent …</p>;
  const { sentence, paths } = explained.why;
  return (
    <>
      <p class="because">{sentence}</p>
      {paths.length > 1 ? (
        <ol>
          {paths.map((path) => (
            <li key={path.links.join(" ")}>
              <b>{path.links.join(" > ")}</b>: {path.sentence}
            </li>
          ))}
        </ol>
      ) : (
        <p>over {paths[0]?.links.join(" > ")}</p>
      )}
    </>
  );
}
