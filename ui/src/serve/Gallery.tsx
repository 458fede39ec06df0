/** Scenarios to begin from, on cards with their networks. */

import { useEffect, useState } from "preact/hooks";

import type { Inks } from "../colours";
import type { Palette } from "../data";
import { useTheme } from "../theme";
import { Pieces } from "../views/Description";
import { factsOfScenario } from "./glance";
import { EMPTY, hashOf } from "./route";
import { ask, isAborted, reasonOf, type ScenarioCard, type ScenarioFacts } from "./server";
import { Thumb } from "./Thumb";
import { useCard } from "./useCard";

export function Gallery({ palette }: { palette: Palette }) {
  const [files, setFiles] = useState<ScenarioFacts[] | null>(null);
  const [failed, setFailed] = useState("");
  const [filter, setFilter] = useState("");
  const { own } = useTheme();
  useEffect(() => {
    const ended = new AbortController();
    ask<ScenarioFacts[]>("api/scenarios", ended.signal).then(
      setFiles,
      (error) => isAborted(error) || setFailed(reasonOf(error)),
    );
    return () => ended.abort();
  }, []);
  const word = filter.trim().toLowerCase();
  const shown = (files ?? []).filter((file) =>
    [file.title, file.file, file.description].some((text) => text.toLowerCase().includes(word)),
  );
  return (
    <main class="gallery">
      <header>
        <h1>New run</h1>
        <div class="tools">
          <input
            type="search"
            aria-label="filter"
            placeholder="filter examples"
            value={filter}
            onInput={(event) => setFilter(event.currentTarget.value)}
          />
          <a class="button" href={hashOf({ at: "new", origin: EMPTY })}>
            an empty scenario
          </a>
        </div>
      </header>
      <p class="lead">
        Begin with an example. Everything in it can be changed before the run starts, and its file stays as it is.
      </p>
      {failed ? <p class="failed">{failed}</p> : null}
      {files && !shown.length ? <p class="empty">No example has “{filter}” on its card.</p> : null}
      {groupsOf(shown).map(([name, own_files]) => (
        <section key={name} aria-label={name}>
          {name ? <h2>{name}</h2> : null}
          <div class="cards">
            {own_files.map((file) => (
              <Example key={file.id} {...{ file, palette, own }} />
            ))}
          </div>
        </section>
      ))}
    </main>
  );
}

/** Files by their folders: the classics first, then the reader's own, then what else there is. */
export function groupsOf(files: ScenarioFacts[]): [string, ScenarioFacts[]][] {
  const groups = new Map<string, ScenarioFacts[]>();
  for (const file of files) {
    const folder = file.file.includes("/") ? file.file.slice(0, file.file.lastIndexOf("/")) : "";
    const name = folder ? titled(folder) : file.shipped ? "Examples" : "Scenarios in your folder";
    groups.set(name, [...(groups.get(name) ?? []), file]);
  }
  const rank = (name: string) => ["Classics", "Scenarios in your folder"].indexOf(name) + 1 || 9;
  const found = [...groups].sort(([a], [b]) => rank(a) - rank(b));
  return found.length === 1 ? found.map(([, own]) => ["", own]) : found;
}

const titled = (folder: string): string => folder.charAt(0).toUpperCase() + folder.slice(1).replaceAll("-", " ");

function Example({ file, palette, own }: { file: ScenarioFacts; palette: Palette; own: Inks }) {
  const { place, card, failed } = useCard<ScenarioCard>(`api/scenarios/${encodeURIComponent(file.id)}/card`, "");
  const href = hashOf({ at: "new", origin: file.id });
  return (
    <article class="tile" aria-label={file.file} ref={place}>
      <div class="picture">
        <Thumb {...{ palette, own }} picture={card?.picture ?? null} />
      </div>
      <div class="words">
        <h3>
          <a href={href}>{file.title || file.file}</a>
        </h3>
        {file.description ? (
          <p class="sentence">
            <Pieces text={file.description} />
          </p>
        ) : null}
        {failed ? <p class="failed">{failed}</p> : null}
      </div>
      <footer>
        <span class="small">{card ? factsOfScenario(card).join(" · ") : file.file}</span>
      </footer>
    </article>
  );
}
