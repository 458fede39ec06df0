/** What stands on this site, in a page: cards, numbers, new runs, programs. */

import { hashOf } from "./route";

const TERMS: [string, string][] = [
  ["away from fair", "How far mean rates are from the fair ones, relative to these: the mean over connections."],
  [
    "Jain's index",
    "1 where all rates are equal, 1/n where one of n connections has everything. Fair rates may be unequal.",
  ],
  ["settles in", "How soon rates stay within 1 % of where they end after connections join: the median."],
  ["longest queue", "The most packets that waited at a link, the one in transmission included."],
  ["use of bottlenecks", "The mean load of links that the fair rates fill, by their capacity."],
  ["lost", "The share of the sent bytes that was lost on the way."],
];

export function Guide() {
  return (
    <main class="guide">
      <h1>How this site works</h1>
      <p>
        Each card is a run or an allocation in the folder that <code>anabranch serve</code> was started with. Open one,
        or choose several and compare them side by side. Runs that <code>anabranch run --out</code> and{" "}
        <code>solve --out</code> write into the folder appear by themselves.
      </p>
      <h2>The numbers on cards</h2>
      <dl>
        {TERMS.map(([term, words]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <h2>New runs</h2>
      <p>
        A <a href={hashOf({ at: "new", origin: "" })}>new run</a> begins with an example or with an empty scenario. The
        form and the text are the same scenario: a field of the form changes its line of the text, and comments stay.
        Where a field is empty it shows what applies.
      </p>
      <h2>Renaming and deleting</h2>
      <p>
        A run that is deleted goes into the trash of the folder, below the cards, and can be brought back until the
        trash is emptied. Renaming changes the title of a run, or its folder.
      </p>
      <h2>For programs</h2>
      <p>
        <a href="api/docs">All routes of the server</a> are open to programs. <code>anabranch --help</code> lists the
        commands.
      </p>
    </main>
  );
}
