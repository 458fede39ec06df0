/** What the page and its runs are called: by their titles, and by what tells runs of one scenario apart. */

import type { Header } from "./data";

/** What a run is called beside others, and which word leads to it: "under LIA", "with seed 3", "in Continent". */
export interface Label {
  text: string;
  lead: "under" | "with" | "in";
  /** Numbers of the runs of the same scenario, itself included. */
  group: number[];
}

/** Settings that change what is recorded and not what happens. */
const QUIET = new Set(["run.record", "run.sample"]);
/** Of more settings that differ the rest is counted. */
const MOST = 2;
/** Of more runs the page says how many there are. */
const MOST_NAMED = 4;

export const titleOf = (header: Header): string => header.title || header.name;

/** A protocol's name without what stands in brackets behind it. */
export const shortName = (protocol: string): string => protocol.replace(/ \(.*\)$/, "") || protocol;

/** The labels of runs that stand side by side. */
export function labelsOf(headers: Header[]): Label[] {
  const groups = headers.map((header) =>
    headers.flatMap((other, i) => (other.kind === header.kind && titleOf(other) === titleOf(header) ? [i] : [])),
  );
  const labels = headers.map((header, i): Label => {
    const group = groups[i] as number[];
    if (group.length === 1) return { text: titleOf(header), lead: "in", group };
    const others = group.map((k) => headers[k] as Header);
    const ways = waysOf(header, others);
    const settings = header.kind === "run" ? settingsApart(header, others) : [];
    const lead = ways.length && header.kind === "run" ? "under" : "with";
    return { text: [...ways, ...settings].join(", "), lead, group };
  });
  return labels.map((label, i) => {
    const isAlone = label.text && labels.every((other, k) => k === i || other.text !== label.text);
    return isAlone ? label : { ...label, text: (headers[i] as Header).name, lead: "in" };
  });
}

/** The protocols of a run, or the method of an allocation, where others have different ones. */
function waysOf(header: Header, others: Header[]): string[] {
  const own = wayOf(header);
  return others.every((other) => wayOf(other) === own) ? [] : [own];
}

function wayOf({ kind, protocols, summary }: Header): string {
  if (kind === "allocation") return `${fairnessText(String(summary?.fairness))} by ${String(summary?.method)}`;
  return listed(Object.keys(protocols).map(shortName));
}

/** A kind of fairness as people write it. */
export const fairnessText = (fairness: string): string =>
  fairness.replace("max-min", "max\u2011min").replaceAll("-", " ");

/** The seed and the settings in which a run differs from the others, in words. */
function settingsApart(header: Header, others: Header[]): string[] {
  const seeds = new Set(others.map((other) => other.seed));
  const keys = new Set(others.flatMap((other) => Object.keys(other.settings ?? {})));
  const isOtherProtocol = new Set(others.map(wayOf)).size > 1;
  const texts = new Set<string>();
  for (const key of keys) {
    if (QUIET.has(key) || (isOtherProtocol && key.includes(".protocol"))) continue;
    const values = new Set(others.map((other) => other.settings?.[key]));
    if (values.size > 1) texts.add(settingText(key, header.settings?.[key]));
  }
  const [all, more] = [[...texts], texts.size - MOST];
  const named = more > 0 ? [...all.slice(0, MOST), `${more} more ${more === 1 ? "setting" : "settings"}`] : all;
  return seeds.size > 1 ? [`seed ${header.seed}`, ...named] : named;
}

/** A setting in words: of `link.wifi.queue` "wifi: queue 60 packets". */
function settingText(key: string, value: string | undefined): string {
  const parts = key.split(".");
  const [kind = "", name = ""] = parts;
  const what = (parts[parts.length - 1] ?? "").replaceAll("_", " ");
  const text = value === undefined ? `no ${what}` : `${what} ${value}`;
  return ["link", "connection", "traffic", "node"].includes(kind) && parts.length > 2 ? `${name}: ${text}` : text;
}

/** Names in a row: "a", "a and b", "a, b and c". */
export function listed(names: string[]): string {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}

/** The title of the page. */
export function pageTitle(headers: Header[], labels: Label[] = labelsOf(headers)): string {
  const [only] = headers;
  if (headers.length === 1 && only?.kind === "allocation") {
    return `${titleOf(only)}: ${fairnessText(String(only.summary?.fairness))} fair rates`;
  }
  const told = new Set<number>();
  const parts: string[] = [];
  labels.forEach((label, i) => {
    if (told.has(i)) return;
    for (const k of label.group) told.add(k);
    parts.push(
      groupTitle(
        titleOf(headers[i] as Header),
        label.group.map((k) => (labels[k] as Label).text),
      ),
    );
  });
  const title = parts.length > MOST_NAMED ? `${headers.length} runs` : parts.join(" · ");
  // A name that begins with an article, as "the live run" does, begins the title.
  return title.replace(/^(the|seed)\b/, (word) => `${word[0]?.toUpperCase()}${word.slice(1)}`);
}

function groupTitle(title: string, labels: string[]): string {
  if (labels.length === 1) return title;
  // Where names have commas of their own, others stand between them.
  const all = labels.some((label) => label.includes(", ")) ? labels.join("; ") : listed(labels);
  const names = labels.length === 2 ? labels.join(" beside ") : all;
  const who = labels.length > MOST_NAMED ? `${labels.length} runs` : names;
  return `${who}${title.includes(":") ? " – " : ": "}${title}`;
}
