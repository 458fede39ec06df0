/** The head of a page that follows a program. */

import { useTheme } from "../theme";

export function LiveHead({ what, isLive, isKnown }: { what: string; isLive: boolean; isKnown: boolean }) {
  const { theme, next } = useTheme();
  return (
    <header>
      <span class="brand">anabranch</span>
      <p class={`link ${isLive ? "" : "lost"}`} role="status">
        {isLive
          ? `follows the ${what}`
          : isKnown
            ? `the ${what} does not answer; trying again …`
            : `asking the ${what} …`}
      </p>
      <button type="button" onClick={next} title="light, dark, or as the system has it">
        {theme === "system" ? "◐ system" : theme === "light" ? "☀ light" : "☾ dark"}
      </button>
    </header>
  );
}
