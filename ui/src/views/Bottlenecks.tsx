/** The links that hold the connections of an allocation back, or the dearest ones. */

import { useMemo } from "preact/hooks";
import type { Run } from "../data";
import { unitOf } from "../scaled";
import type { Update } from "../selection";
import { priceText, shareText } from "../units";
import { bottlenecksOf } from "../why";
import { LinkName } from "./LinkName";
import { Term } from "./Term";

const MOST = 8;

export function Bottlenecks({ run, update }: { run: Run; update: Update }) {
  const found = useMemo(() => bottlenecksOf(run), [run]);
  const isPriced = run.header.links.price !== undefined;
  const shown = found.slice(0, MOST);
  const levels = unitOf("level_bps", Math.max(0, ...shown.map(({ level }) => level)));
  const sizes = unitOf(
    "capacity_bps",
    Math.max(0, ...shown.map(({ link }) => run.header.links.capacity_bps[link] ?? 0)),
  );
  const alpha = Number(run.header.summary?.alpha ?? 1);
  return (
    <section class="details" aria-label="bottlenecks">
      <h3>
        {isPriced ? "The dearest links" : "The tightest "}
        {isPriced ? null : <Term of="bottleneck">bottlenecks</Term>}
      </h3>
      {found.length ? (
        <table class="wide">
          <thead>
            <tr>
              <th scope="col">link</th>
              <th scope="col" class="number">
                {isPriced ? <Term of="price" /> : <Term of="level" />}
                {isPriced ? null : <span class="unit"> {levels.name}</span>}
              </th>
              <th scope="col" class="number">
                holds back
              </th>
              <th scope="col" class="number minor">
                capacity<span class="unit"> {sizes.name}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ link, held, level, price }) => (
              <tr key={link}>
                <th scope="row">
                  <LinkName {...{ run, link, update }} />
                </th>
                <td class="number">
                  {isPriced ? priceText(price, alpha) : level < 0 ? shareText(level) : levels.text(level)}
                </td>
                <td class="number">{held}</td>
                <td class="number minor">
                  {sizes.text(run.header.links.capacity_bps[link] ?? Number.POSITIVE_INFINITY)}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : (
        <p class="empty">No link limits a connection: all demands are met.</p>
      )}
      {found.length > MOST ? <p class="more">and {found.length - MOST} more, on the map with a rim</p> : null}
    </section>
  );
}
