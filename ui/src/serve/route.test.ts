import { expect, test } from "vitest";

import { hashOf, type Route, routeOf } from "./route";

test("every place has an address that leads back to it", () => {
  const places: Route[] = [
    { at: "home", filter: "", chosen: [], order: "" },
    { at: "home", filter: "d-SLEN & co", chosen: ["one", "sweep:seed~201"], order: "title" },
    { at: "runs", ids: ["one", "a:b"] },
    { at: "job", id: "0123abcd" },
    { at: "new", origin: "" },
    { at: "new", origin: "~:classics:two.toml" },
    { at: "guide" },
  ];
  for (const place of places) expect(routeOf(hashOf(place))).toEqual(place);
});

test("an address that is none leads home, and odd ids are left out", () => {
  for (const hash of ["", "#", "#/", "#/nowhere/x", "#/runs/", "#/runs/%2e%2e", "#/jobs/"]) {
    expect(routeOf(hash).at).toBe("home");
  }
  expect(routeOf("#/runs/a,,a,<b>,c")).toEqual({ at: "runs", ids: ["a", "c"] });
});
