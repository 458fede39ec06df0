import { expect, test } from "vitest";

import { answered, draftOf, sourceOf } from "./draft";
import type { CheckAnswer } from "./server";

const answer = (own: Partial<CheckAnswer>): CheckAnswer => ({
  right: true,
  facts: null,
  problem: null,
  text: null,
  value: null,
  ...own,
});

const NOTHING = { origin: "", seed: "" };
const BEGIN = draftOf("a = 1 # one\n", { a: 1 }, "form");

test("a form asks by edits of the text, and the text follows", () => {
  const changed = { ...BEGIN, value: { a: 2 } };
  expect(sourceOf(changed, { origin: "x.toml", seed: "7" })).toEqual({
    scenario: "a = 1 # one\n",
    edits: [{ path: ["a"], value: 2 }],
    seed: "7",
    origin: "x.toml",
  });
  const after = answered(changed, changed, answer({ text: "a = 2 # one\n", value: { a: 2 } }));
  expect(after).toEqual({ as: "form", text: "a = 2 # one\n", known: { a: 2 }, value: { a: 2 } });
  expect(sourceOf(after, NOTHING)).toEqual({ scenario: "a = 2 # one\n" });
});

test("what is written meanwhile is not lost", () => {
  const asked = { ...BEGIN, value: { a: 2 } };
  const meanwhile = { ...BEGIN, value: { a: 2, b: 3 } };
  const after = answered(meanwhile, asked, answer({ text: "a = 2 # one\n" }));
  expect(after.value).toEqual({ a: 2, b: 3 });
  expect(sourceOf(after, NOTHING).edits).toEqual([{ path: ["b"], value: 3 }]);
  // An answer about a text that has changed since says nothing.
  const other = draftOf("c = 1\n", null, "text");
  expect(answered(other, asked, answer({ text: "a = 2\n" }))).toBe(other);
});

test("a text that is no TOML has no values, and fields stay as they were", () => {
  const asked = draftOf("a = ", { a: 1 }, "text");
  const after = answered(asked, asked, answer({ right: false, value: null }));
  expect([after.known, after.value]).toEqual([null, { a: 1 }]);
  expect(sourceOf(asked, NOTHING)).toEqual({ scenario: "a = " });
});

test("an edit that cannot be made leaves the text as it is", () => {
  const asked = { ...BEGIN, value: { a: { b: 1 } } };
  const refused = answer({ right: false, problem: { error: "it cannot be changed" } });
  expect(answered(asked, asked, refused)).toBe(asked);
});
