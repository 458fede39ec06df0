/** Cards of runs and scenarios, asked for once they are seen, and kept while the page is open. */

import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

import { ask, isAborted, reasonOf } from "./server";

const kept = new Map<string, unknown>();

interface Found<T> {
  place: RefObject<HTMLElement | null>;
  card: T | null;
  failed: string;
}

/** Gives the card at a path once its place is seen; `state` changes when the card has to be asked for anew. */
export function useCard<T>(path: string, state: string | number): Found<T> {
  const key = `${path} ${state}`;
  const place = useRef<HTMLElement | null>(null);
  const [card, setCard] = useState<T | null>((kept.get(key) as T | undefined) ?? null);
  const [failed, setFailed] = useState("");
  useEffect(() => {
    const known = kept.get(key) as T | undefined;
    setCard(known ?? null);
    setFailed("");
    if (known || !place.current) return;
    const ended = new AbortController();
    const watch = new IntersectionObserver((entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watch.disconnect();
      ask<T>(path, ended.signal).then(
        (own) => {
          kept.set(key, own);
          setCard(own);
        },
        (error) => isAborted(error) || setFailed(reasonOf(error)),
      );
    });
    watch.observe(place.current);
    return () => {
      watch.disconnect();
      ended.abort();
    };
  }, [key]);
  return { place, card, failed };
}
