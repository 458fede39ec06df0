/** The links that hold the connections of an allocation back, or the dearest ones. */

import { useMemo } from "preact/hooks";
import type { Run } from "../data";
import type { Update } from "../selection";
import { priceText, rateText } from "../units";
import { bottlenecksOf } from "../why";
import { LinkName } from "./LinkName";

const MOST = 12;

export function Bottlenecks({ run, update }: { run: Run; update: Update }) {
  const found = useMemo(() => bottlenecksOf(run), [run]);
  const isPriced = run.header.links.price !== undefined;
  const alpha = Number(run.header.summary?.alpha ?? 1);
  return (
    <section class="details" aria-label="bottlenecks">
      <h3>{isPriced ? "The dearest links" : "The tightest bottlenecks"}</h3>
      <p class="facts">Choose a connection to see why it gets no more, or a link to see its connections.</p>
      {found.length ? (
        <div class="scroll">
          <table class="wide">
            <thead>
              <tr>
                <th scope="col">link</th>
                <th scope="col">{isPriced ? "price" : "level"}</th>
                <th scope="col">connections</th>
                <th scope="col">capacity</th>
              </tr>
            </thead>
            <tbody>
              {found.slice(0, MOST).map(({ link, held, level, price }) => (
                <tr key={link}>
                  <th scope="row">
                    <LinkName {...{ run, link, update }} />
                  </th>
                  <td class="number">{isPriced ? priceText(price, alpha) : rateText(level)}</td>
                  <td class="number">{held}</td>
                  <td class="number">{rateText(run.header.links.capacity_bps[link] ?? Number.POSITIVE_INFINITY)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      ) : (
        <p class="empty">no link limits a connection: all demands are met</p>
      )}
      {found.length > MOST ? <p class="more">and {found.length - MOST} more, on the map with a rim</p> : null}
    </section>
  );
}
