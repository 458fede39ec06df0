/** An agent in a few numbers. */

import { rateText } from "../units";
import type { Known } from "./agent";
import { MOST_SESSIONS } from "./useAgent";

const DAY_S = 86_400;
/** Certificates that end within so many days are warned of. */
const SOON_DAYS = 14;

export function Facts({ known }: { known: Known }) {
  const { about, neighbours, sessions } = known;
  const up = neighbours.filter((neighbour) => neighbour.state === "up").length;
  const days = Math.floor((about.certificate_until_s - about.time_s) / DAY_S);
  // Of more sessions than the page has the agent knows the sums.
  const isPart = sessions.length >= MOST_SESSIONS;
  const granted = isPart ? about.rate_bps : sessions.reduce((sum, session) => sum + session.rate_bps, 0);
  const count = isPart ? about.sessions : sessions.length;
  const short = sessions.filter(
    (session) => session.demand_bps && session.rate_bps < 0.999 * session.demand_bps,
  ).length;
  return (
    <>
      {about.is_draining ? (
        <p class="warning" role="alert">
          The agent makes ready to end: it takes no sessions.
        </p>
      ) : null}
      <dl class="tiles">
        <Tile name="protocol" value={about.protocol} />
        <Tile name="granted" value={rateText(granted)} />
        <Tile name="sessions" value={`${count}${short && !isPart ? `, ${short} with less than they ask for` : ""}`} />
        <Tile name="neighbours" value={`${up} of ${neighbours.length} connected`} isBad={up < neighbours.length} />
        <Tile name="certificate" value={`${days} days left`} isBad={days < SOON_DAYS} />
      </dl>
    </>
  );
}

export function Tile({ name, value, isBad = false }: { name: string; value: string; isBad?: boolean }) {
  return (
    <div class={isBad ? "bad" : ""}>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  );
}
