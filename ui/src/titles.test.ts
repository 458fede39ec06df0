import { expect, test } from "vitest";

import type { Header } from "./data";
import { labelsOf, pageTitle } from "./titles";

const run = (title: string, protocol: string, more: Partial<Header> = {}): Header =>
  ({ kind: "run", name: "folder", title, protocols: { [protocol]: {} }, seed: 1, settings: {}, ...more }) as Header;
const texts = (...headers: Header[]) => labelsOf(headers).map((label) => label.text);

test("a page of one run has its title", () => {
  expect(pageTitle([run("Join and leave", "d-SLEN")])).toBe("Join and leave");
  expect(pageTitle([run("", "d-SLEN")])).toBe("folder");
  const solved = {
    kind: "allocation",
    title: "Continent",
    summary: { fairness: "upward-max-min" },
  } as unknown as Header;
  expect(pageTitle([solved])).toBe("Continent: upward max\u2011min fair rates");
});

test("runs of one scenario are told apart by their protocols", () => {
  const both = [run("Wifi", "d-SLEN"), run("Wifi", "Vo-Le-Tran (reconstruction)")];
  expect(texts(...both)).toEqual(["d-SLEN", "Vo-Le-Tran"]);
  expect(pageTitle(both)).toBe("d-SLEN beside Vo-Le-Tran: Wifi");
  expect(pageTitle([...both, run("Wifi", "LIA")])).toBe("d-SLEN, Vo-Le-Tran and LIA: Wifi");
  expect(pageTitle([run("Scenario 3: many", "LIA"), run("Scenario 3: many", "OLIA")])).toBe(
    "LIA beside OLIA – Scenario 3: many",
  );
});

test("or by seed and settings, in words", () => {
  const long = { settings: { "link.wifi.queue": "60 packets", "run.record": "links" } };
  const short = { settings: { "link.wifi.queue": "5 packets", "run.record": "none" }, seed: 2 };
  expect(texts(run("Wifi", "LIA", long), run("Wifi", "LIA", short))).toEqual([
    "seed 1, wifi: queue 60 packets",
    "seed 2, wifi: queue 5 packets",
  ]);
  const one = { settings: { "connection.a.protocol.lia.gain": "1" } };
  const two = { settings: { "connection.a.protocol.lia.gain": "2" } };
  expect(texts(run("Wifi", "LIA", one), run("Wifi", "LIA", two))).toEqual(["a: gain 1", "a: gain 2"]);
  // Other protocols have other parameters, of which nothing is to be said.
  expect(texts(run("Wifi", "LIA", one), run("Wifi", "OLIA"))).toEqual(["LIA", "OLIA"]);
});

test("what nothing tells apart has the names of the folders", () => {
  expect(texts(run("Wifi", "LIA", { name: "first" }), run("Wifi", "LIA", { name: "again" }))).toEqual([
    "first",
    "again",
  ]);
});

test("runs of several scenarios have their titles", () => {
  const continent = { ...run("Continent", "c-slen"), kind: "allocation" } as Header;
  const all = [run("Wifi", "LIA"), run("Wifi", "OLIA"), continent];
  expect(texts(...all)).toEqual(["LIA", "OLIA", "Continent"]);
  expect(pageTitle(all)).toBe("LIA beside OLIA: Wifi · Continent");
});
