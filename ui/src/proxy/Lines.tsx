/** The lines of a proxy, or of all proxies of an exit. */

import { rateText, sizeText, spanText } from "../units";
import { Heads } from "../views/Heads";
import { keyOfLine, keyOfPeer, lossText, type Peer, type Rates, STATES, type Status, termsText } from "./proxy";

interface Props {
  status: Status;
  rates: Map<string, Rates>;
}

export function Lines({ status, rates }: Props) {
  const proxies = status.peers.filter((peer) => peer.lines.length);
  const others = status.peers.filter((peer) => !peer.lines.length);
  return (
    <>
      {proxies.map((peer) => (
        <Table
          key={peer.peer}
          {...{ peer, rates }}
          title={status.kind === "proxy" ? "Lines" : `Lines with ${peer.peer}`}
        />
      ))}
      {status.kind === "exit" && !status.peers.length ? <p class="empty">No proxy is connected.</p> : null}
      {others.length ? (
        <section class="table" aria-label="other clients">
          <h2>Clients with one connection</h2>
          <table>
            <Heads of={["client", { number: "flows" }, { number: "to targets" }, { number: "from targets" }]} />
            <tbody>
              {others.map((peer) => (
                <tr key={peer.peer} class={peer.is_known ? "" : "bad"}>
                  <th scope="row">
                    {peer.peer}
                    {peer.is_known ? "" : ", which has not shown a token"}
                  </th>
                  <td class="number">{peer.open_flows}</td>
                  <td class="number">{rateText(rates.get(keyOfPeer(peer))?.out_bps ?? 0)}</td>
                  <td class="number">{rateText(rates.get(keyOfPeer(peer))?.in_bps ?? 0)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      ) : null}
    </>
  );
}

function Table({ peer, rates, title }: { peer: Peer; rates: Map<string, Rates>; title: string }) {
  return (
    <section class="table" aria-label={title}>
      <h2>{title}</h2>
      <table>
        <Heads
          of={[
            "path",
            "state",
            { number: "receives" },
            { number: "sends" },
            { number: "round trip" },
            { minor: "window" },
            { minor: "lost of sent" },
            { minor: "opened" },
          ]}
        />
        <tbody>
          {peer.lines.map((line) => {
            const own = rates.get(keyOfLine(peer, line));
            const isUp = line.state !== "down";
            return (
              <tr key={line.line} class={line.state === "up" ? "" : "bad"}>
                <th scope="row">
                  {line.path || "as the system chooses"}
                  {termsText(line)}
                </th>
                <td>{line.reason ? `${STATES[line.state]}: ${line.reason}` : STATES[line.state]}</td>
                <td class="number rate">{rateText(isUp ? (own?.in_bps ?? 0) : null)}</td>
                <td class="number rate">{rateText(isUp ? (own?.out_bps ?? 0) : null)}</td>
                <td class="number">{spanText(isUp ? line.rtt_s : null)}</td>
                <td class="number minor">{sizeText(isUp ? line.window_bytes : null)}</td>
                <td class="number minor">{lossText(line)}</td>
                <td class="number minor">{line.openings === 1 ? "once" : `${line.openings} times`}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}
