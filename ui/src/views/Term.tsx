/** A word of the page with its meaning at hand: by pointer, by touch and by keyboard. */

import { useEffect, useId, useRef, useState } from "preact/hooks";

import { TERMS, type TermName } from "../terms";

/** How far the text stays from the edges of the window. */
const EDGE = 8;
/** The pointer rests this long on a word before its meaning shows. */
const REST_MS = 350;

export function Term({ of, children }: { of: TermName; children?: string }) {
  const { word, means, ...rest } = TERMS[of];
  const more = "more" in rest ? rest.more : undefined;
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const bubble = useRef<HTMLSpanElement>(null);
  const timer = useRef(0);
  /** Whether it stays when the pointer goes: it was asked for, and did not show by itself. */
  const stays = useRef(false);
  const id = useId();

  useEffect(() => {
    if (!open || !bubble.current || !button.current) return;
    bubble.current.showPopover?.();
    place(bubble.current, button.current);
    const hide = () => setOpen(false);
    const away = (event: Event) => {
      if (!(event.target instanceof Node && button.current?.contains(event.target))) hide();
    };
    const leaveBy = (event: KeyboardEvent) => {
      if (event.key !== "Escape") return;
      // Only the meaning goes; what is chosen stays.
      event.stopPropagation();
      hide();
    };
    document.addEventListener("pointerdown", away);
    document.addEventListener("keydown", leaveBy, true);
    window.addEventListener("scroll", hide, true);
    return () => {
      document.removeEventListener("pointerdown", away);
      document.removeEventListener("keydown", leaveBy, true);
      window.removeEventListener("scroll", hide, true);
    };
  }, [open]);
  useEffect(() => () => clearTimeout(timer.current), []);

  const enter = (event: PointerEvent) => {
    if (event.pointerType !== "mouse") return;
    clearTimeout(timer.current);
    stays.current = false;
    timer.current = window.setTimeout(() => setOpen(true), REST_MS);
  };
  const leave = (event: PointerEvent) => {
    clearTimeout(timer.current);
    if (event.pointerType === "mouse" && !stays.current) setOpen(false);
  };
  const press = (event: MouseEvent) => {
    event.stopPropagation();
    clearTimeout(timer.current);
    setOpen(!(open && stays.current));
    stays.current = !stays.current || !open;
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        class="term"
        aria-expanded={open}
        {...(open ? { "aria-describedby": id } : {})}
        onClick={press}
        onBlur={() => setOpen(false)}
        onPointerEnter={enter}
        onPointerLeave={leave}
      >
        {children ?? word}
      </button>
      {open ? (
        <span ref={bubble} id={id} class="meaning" popover="manual" role="tooltip">
          <b>{word}</b> {means}
          {more ? <em> {more}</em> : null}
        </span>
      ) : null}
    </>
  );
}

/** Puts the text below its word, or above where there is more room, within the window. */
function place(bubble: HTMLElement, word: HTMLElement): void {
  const at = word.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = bubble;
  const left = Math.min(Math.max(at.left, EDGE), Math.max(innerWidth - width - EDGE, EDGE));
  const below = at.bottom + 6;
  const top = below + height > innerHeight - EDGE && at.top > height + 6 ? at.top - height - 6 : below;
  bubble.style.left = `${left}px`;
  bubble.style.top = `${top}px`;
}
