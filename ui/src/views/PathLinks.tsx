/** The links of a path, in order. */

import type { Run } from "../data";
import type { Update } from "../selection";
import { LinkName } from "./LinkName";

export function PathLinks({ run, path, update }: { run: Run; path: number[]; update: Update }) {
  return (
    <>
      {path.map((link, i) => (
        <span key={link}>
          {i ? " > " : ""}
          <LinkName {...{ run, link, update }} />
        </span>
      ))}
    </>
  );
}
