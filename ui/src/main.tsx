/** Where the page begins: it reads what the file has, and says so where that fails. */

import { render } from "preact";

import { embeddedRuns } from "./data";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import { App } from "./views/App";

const SOON_MS = 50;

async function begin(place: Element): Promise<void> {
  render(<p class="empty">reading …</p>, place);
  try {
    const { palette, runs, whole } = await embeddedRuns(document);
    if (!runs.length) throw new Error("there is no run in this file; write one with `anabranch report`");
    document.title = runs.map((run) => run.header.name).join(" · ");
    render(<App runs={runs} palette={palette} />, place);
    // Once the browser has drawn that.
    setTimeout(async () => render(<App runs={await whole()} palette={palette} />, place), SOON_MS);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    render(<p class="failed">The page cannot be shown: {reason}</p>, place);
  }
}

const place = document.getElementById("page");
if (place) void begin(place);
