/** How runs went, in a few numbers, and in what they differ. */

import type { ComponentChildren } from "preact";
import type { Inks } from "../colours";
import { seen } from "../colours";
import type { Header, Run } from "../data";
import { balanced, differences, type Figure, figuresOf, figuresOfAllocation } from "../story";
import type { Label } from "../titles";
import { Marker } from "./Marker";
import { Term } from "./Term";

/** The numbers of one run, large. */
export function Tiles({ header }: { header: Header }) {
  const figures = header.kind === "run" ? figuresOf(header) : figuresOfAllocation(header);
  const known = figures.filter((figure) => figure.value !== null);
  if (!known.length) return null;
  return (
    <div class="head-line">
      <dl class="tiles" aria-label="head line" style={columnsOf(known.length)}>
        {known.map((figure) => (
          <div key={figure.label}>
            <dd class="large">{figure.text}</dd>
            <dt>{termed(figure)}</dt>
            {figure.note ? <dd class="note">{bound(figure.note)}</dd> : null}
          </div>
        ))}
      </dl>
    </div>
  );
}

/** How many tiles stand in a row where there is little, some and much room. */
const columnsOf = (count: number) => ({
  "--few": balanced(count, 2),
  "--some": balanced(count, 4),
  "--many": balanced(count, 8),
});

/** A text in which no line ends between a number and its unit. */
const bound = (text: string): string => text.replace(/(\d) (?=[%a-zµ]+)/gi, "$1\u00a0");

const termed = ({ term, label }: Figure) => (term ? <Term of={term}>{label}</Term> : label);

interface Props {
  runs: Run[];
  labels: Label[];
  own: Inks;
  /** What the scenario is about. */
  children: ComponentChildren;
}

/** The numbers of runs of one scenario beside what the scenario is about, and what the numbers mean in words. */
export function Comparison({ runs, labels, own, children }: Props) {
  const group = labels.find((label) => label.group.length > 1)?.group ?? [];
  const compared = group.flatMap((i) => {
    const { header } = runs[i] as Run;
    return header.headline ? [{ run: runs[i] as Run, label: labels[i] as Label, figures: figuresOf(header) }] : [];
  });
  if (compared.length < 2) return <>{children}</>;
  const sentences = differences(
    runs.map((run) => run.header),
    labels,
  );
  const rows = (compared[0]?.figures ?? []).map((_, row) => row);
  const known = rows.filter((row) => compared.some(({ figures }) => figures[row]?.value !== null));
  return (
    <section class="comparison" aria-label="comparison">
      <div>
        {children}
        {sentences.length ? (
          <ul class="sentences">
            {sentences.map((sentence) => (
              <li key={sentence}>{bound(sentence)}</li>
            ))}
          </ul>
        ) : null}
      </div>
      <div class="scroll">
        <table>
          <thead>
            <tr>
              <td />
              {compared.map(({ run, label }) => (
                <th scope="col" key={label.text}>
                  <Markers run={run} own={own} /> {label.text}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {known.map((row) => (
              <tr key={row}>
                <th scope="row">{termed((compared[0] as (typeof compared)[0]).figures[row] as Figure)}</th>
                {compared.map(({ label, figures }) => (
                  <td key={label.text}>
                    <b>{figures[row]?.text}</b>
                    <span class="note">{bound(figures[row]?.note ?? "")}</span>
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** The markers of the protocols of a run. */
export function Markers({ run, own }: { run: Run; own: Inks }) {
  if (run.header.kind !== "run") return null;
  return (
    <>
      {Object.entries(run.header.protocols).map(([protocol, look]) => (
        <Marker key={protocol} shape={look.marker} colour={seen(look.colour, own)} />
      ))}
    </>
  );
}
