/** Follows a proxy or an exit: asks for its state once a second. */

import { useEffect, useState } from "preact/hooks";

import { ask } from "../agent/useAgent";
import { type Flows, ratesOf, type Sample, type Status } from "./proxy";

const ASK_MS = 1000;
/** As many samples are kept, and as many flows are asked for. */
const MOST_SAMPLES = 300;
const MOST_FLOWS = 200;

export interface Followed {
  status: Status | null;
  flows: Flows | null;
  samples: Sample[];
  /** Whether the last question was answered. */
  isLive: boolean;
}

export function useProxy(): Followed {
  const [followed, setFollowed] = useState<Followed>({ status: null, flows: null, samples: [], isLive: false });
  useEffect(() => {
    let timer = 0;
    let isOver = false;
    const look = async () => {
      try {
        const [status, flows] = await Promise.all([
          ask<Status>("api/v1/status"),
          ask<Flows>(`api/v1/flows?limit=${MOST_FLOWS}`),
        ]);
        setFollowed((old) => {
          // Another start counts from zero.
          const isSame = old.status?.start_s === status.start_s;
          const rates = old.status && isSame ? ratesOf(old.status, status) : new Map();
          const samples = [...(isSame ? old.samples : []), { time_s: status.time_s, rates }].slice(-MOST_SAMPLES);
          return { status, flows, samples, isLive: true };
        });
      } catch {
        setFollowed((old) => ({ ...old, isLive: false }));
      }
      if (!isOver) timer = window.setTimeout(() => void look(), ASK_MS);
    };
    void look();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, []);
  return followed;
}
