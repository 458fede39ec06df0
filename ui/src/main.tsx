/** Where the page begins: it shows the runs that the file has, or else those of the server, the agent or the proxy that sent it. */

import { render } from "preact";

import { AgentPage } from "./agent/AgentPage";
import { embeddedRuns } from "./data";
import "uplot/dist/uPlot.min.css";
import "./style.css";
import "./story.css";
import "./run.css";
import "./chart.css";
import "./table.css";
import "./agent/agent.css";
import { ProxyPage } from "./proxy/ProxyPage";
import { Served } from "./serve/Served";
import { App } from "./views/App";

const SOON_MS = 50;

async function begin(place: Element): Promise<void> {
  if (document.getElementById("agent")) {
    render(<AgentPage />, place);
    return;
  }
  if (document.getElementById("proxy")) {
    render(<ProxyPage />, place);
    return;
  }
  render(<p class="empty">reading …</p>, place);
  try {
    const { palette, runs, whole } = await embeddedRuns(document);
    if (!runs.length) {
      if (location.protocol === "file:")
        throw new Error("there is no run in this file; make one with `anabranch report`");
      forgetToken();
      render(<Served palette={palette} />, place);
      return;
    }
    render(<App runs={runs} palette={palette} />, place);
    // Once the browser has drawn that.
    setTimeout(async () => render(<App runs={await whole()} palette={palette} />, place), SOON_MS);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    render(<p class="failed">The page cannot be shown: {reason}</p>, place);
  }
}

/** Takes the token out of the address, where others may see it; a cookie has it now. */
function forgetToken(): void {
  if (location.search) history.replaceState(null, "", location.pathname + location.hash);
}

const place = document.getElementById("page");
if (place) void begin(place);
