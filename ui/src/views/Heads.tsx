/** The head of a table. */

/** The words over a column, which may have numbers; a minor one is left out where there is little room. */
export type Head = string | { number: string } | { minor: string };

export function Heads({ of }: { of: Head[] }) {
  return (
    <thead>
      <tr>{of.map(column)}</tr>
    </thead>
  );
}

function column(head: Head) {
  const [words, kind] =
    typeof head === "string" ? [head] : "minor" in head ? [head.minor, "number minor"] : [head.number, "number"];
  return (
    <th key={words} scope="col" class={kind}>
      {words}
    </th>
  );
}
