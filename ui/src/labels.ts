/** Where the names of lines stand beside their ends, without lying on each other. */

/** The end of a line: where it is, and how wide its name. */
export interface End {
  x: number;
  y: number;
  width: number;
}

/** How high a name is, in pixels. */
export const LABEL_HEIGHT = 15;

/**
 * The heights of the middles of the names: as near to their ends as may be, in the order of these.
 *
 * Names that share some of their width keep apart from each other; all stay between 0 and `height`.
 */
export function placeLabels(ends: End[], height: number): number[] {
  const order = ends.map((_, i) => i).sort((a, b) => (ends[a] as End).y - (ends[b] as End).y || a - b);
  const places = ends.map((end) => end.y);
  // A few passes push overlapping names apart, half each; names at the edges push the others.
  for (let pass = 0; pass < PASSES; pass++) {
    for (let i = 0; i < order.length; i++) {
      for (let j = i + 1; j < order.length; j++) {
        const [a, b] = [order[i] as number, order[j] as number];
        if (!besides(ends[a] as End, ends[b] as End)) continue;
        const lack = LABEL_HEIGHT - ((places[b] as number) - (places[a] as number));
        if (lack <= 0) continue;
        places[a] = (places[a] as number) - lack / 2;
        places[b] = (places[b] as number) + lack / 2;
      }
    }
    clamp(order, places, ends, height);
  }
  return places;
}

const PASSES = 30;

const besides = (a: End, b: End): boolean => a.x < b.x + b.width && b.x < a.x + a.width;

/** Puts names that reach beyond an edge back, and those below or above them in a stack. */
function clamp(order: number[], places: number[], ends: End[], height: number): void {
  const half = LABEL_HEIGHT / 2;
  for (const i of order) places[i] = Math.min(Math.max(places[i] as number, half), height - half);
  for (let k = 1; k < order.length; k++) {
    const [a, b] = [order[k - 1] as number, order[k] as number];
    if (!besides(ends[a] as End, ends[b] as End)) continue;
    places[b] = Math.max(places[b] as number, Math.min((places[a] as number) + LABEL_HEIGHT, height - half));
  }
  for (let k = order.length - 2; k >= 0; k--) {
    const [a, b] = [order[k] as number, order[k + 1] as number];
    if (!besides(ends[a] as End, ends[b] as End)) continue;
    places[a] = Math.min(places[a] as number, Math.max((places[b] as number) - LABEL_HEIGHT, half));
  }
}
