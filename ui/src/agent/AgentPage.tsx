/** The page of an agent: its network, its sessions with what limits them, and its neighbours, as they are now. */

import { useEffect, useMemo, useState } from "preact/hooks";

import { chartsOf } from "../charts";
import { looksOf } from "../looks";
import { scalesOf } from "../scales";
import type { State, Update } from "../selection";
import { useTheme } from "../theme";
import { rateText } from "../units";
import { Chart } from "../views/Chart";
import { NetworkMap } from "../views/NetworkMap";
import { type Known, limitText, titleOf } from "./agent";
import { Facts } from "./Facts";
import { LiveHead } from "./LiveHead";
import { networkOf, runOf } from "./live_run";
import { Neighbours } from "./Neighbours";
import { PALETTE } from "./palette";
import { Sessions } from "./Sessions";
import { Sums } from "./Sums";
import { type Followed, useAgent } from "./useAgent";

export function AgentPage() {
  const followed = useAgent();
  const { known, isLive } = followed;
  useEffect(() => {
    if (known) document.title = `${known.about.node} · anabranch agent`;
  }, [known?.about.node]);
  return (
    <main class="agent">
      <LiveHead what="agent" isLive={isLive} isKnown={known !== null} />
      {known ? <Shown followed={followed} known={known} /> : null}
    </main>
  );
}

type Choice = Pick<State, "chosen" | "link">;

function Shown({ followed, known }: { followed: Followed; known: Known }) {
  const { samples } = followed;
  const { own } = useTheme();
  const [choice, setChoice] = useState<Choice>({ chosen: null, link: null });
  const update: Update = ({ chosen, link }) =>
    setChoice((old) => ({
      chosen: chosen === undefined ? old.chosen : chosen,
      link: link === undefined ? old.link : link,
    }));
  const network = useKept(networkOf, known.topology, known);
  const run = useMemo(() => runOf(known, network, samples), [known, network, samples]);
  const scales = useMemo(() => scalesOf([run]), [network]);
  const sample = Math.max(run.times.length - 1, 0);
  const names = run.header.connections.name;
  const chosen = choice.chosen === null ? -1 : names.indexOf(choice.chosen);
  const link = choice.link === null ? -1 : run.header.links.name.indexOf(choice.link);
  const looks = useMemo(
    () =>
      looksOf(
        { run, own },
        names.map((_, row) => row),
      ),
    [run, own],
  );
  const chart = useMemo(() => {
    const drawn = { connection: "granted_bps", subflow: "granted_bps", link: "granted_bps", run: "present" };
    const shown = { ...choice, filter: "", drawn, compared: null, more: false };
    const [rates] = names.length ? chartsOf({ run, shown, palette: PALETTE, own }) : [];
    // A rate stays as it is until it changes.
    return rates && { ...rates, lines: rates.lines.map((line) => ({ ...line, stepped: true })) };
  }, [run, choice, own]);
  const [start = 0, end = 0] = [run.times[0], run.times[sample]];
  const session = known.sessions[chosen];
  return (
    <>
      <h1>Agent of {known.about.node}</h1>
      <Facts known={known} />
      <div class="pair">
        <section aria-label="network">
          <h2>Network</h2>
          <NetworkMap
            {...{ run, sample, own, scales }}
            palette={PALETTE}
            lit={chosen < 0 ? null : [chosen]}
            link={link < 0 ? null : link}
            told={
              session ? `${titleOf(session)}: ${rateText(session.rate_bps)}, limited by ${limitText(session)}` : null
            }
            colourOf={(connection) => looks.get(connection)?.colour ?? own.ink}
            onLink={(number) => update({ link: number === null ? null : (run.header.links.name[number] ?? null) })}
          />
        </section>
        {chart && samples.length > 1 ? (
          <section aria-label="rates">
            <Chart
              {...{ chart, sample, own }}
              of={known.about.node}
              times={run.times}
              span={[start, Math.max(end, start + 1)]}
              whole={true}
              time_s={end}
              height={240}
              onWhole={() => {}}
              onDrawn={() => {}}
              onChoose={(label) => update({ chosen: label })}
              {...TOLD}
            />
          </section>
        ) : null}
      </div>
      <Sessions {...{ known, choice, update }} />
      <Neighbours neighbours={known.neighbours} />
      <Sums sums={known.sums} />
      <footer>
        For programs: <a href="metrics">figures for Prometheus</a>, <a href="openapi.json">the interface in JSON</a>,{" "}
        <a href="api/v1/topology">the network as RFC 8345 has it</a>. Version {known.about.version}.
      </footer>
    </>
  );
}

/** What charts tell a reader who points at them; nothing here follows it. */
export const TOLD = { onTime: () => {}, onSpan: () => {}, onLine: () => {} };

/** What is made of a value, kept as long as the value says the same. */
function useKept<T, V, A>(make: (of: A) => T, value: V, of: A): T {
  const key = useMemo(() => JSON.stringify(value), [value]);
  return useMemo(() => make(of), [key]);
}
