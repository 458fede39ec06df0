/** A scenario as text, with the numbers of its lines, and a mark at the line of a mistake. */

import { useEffect, useRef } from "preact/hooks";

import type { Problem } from "./server";

interface Props {
  text: string;
  problem: Problem | null;
  onChange: (text: string) => void;
}

export function TextBox({ text, problem, onChange }: Props) {
  const box = useRef<HTMLTextAreaElement>(null);
  const lines = text.split("\n").length;
  const wrong = problem?.line ?? null;
  useEffect(() => {
    // As high as the text, so that numbers stay beside their lines.
    if (box.current) box.current.style.height = "0";
    if (box.current) box.current.style.height = `${box.current.scrollHeight}px`;
  }, [text]);
  return (
    <div class="textbox">
      <pre class="lines" aria-hidden="true">
        {Array.from({ length: lines }, (_, i) => (
          <span key={i} class={i + 1 === wrong ? "wrong" : undefined}>
            {i + 1}
            {"\n"}
          </span>
        ))}
      </pre>
      <div class="sheet">
        {wrong === null ? null : <div class="band" style={{ "--line": wrong - 1 }} />}
        <textarea
          ref={box}
          aria-label="scenario as TOML"
          aria-invalid={problem !== null}
          spellcheck={false}
          wrap="off"
          value={text}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      </div>
    </div>
  );
}
