/** Light or dark: as the system has it, or as the reader wants it. */

import { useEffect, useState } from "preact/hooks";

import { type Inks, inks } from "./colours";

const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const SCHEME = "(prefers-color-scheme: dark)";
const KEY = "anabranch-theme";
const CHANGED = "anabranch-theme-changed";

export const themeNamed = (name: string | null): Theme => THEMES.find((theme) => theme === name) ?? "system";

export const themeAfter = (theme: Theme): Theme => THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] as Theme;

/** The theme chosen, also by a reader who forbids the browser to keep anything. */
let chosen: Theme = "system";

function kept(): Theme {
  try {
    return themeNamed(localStorage.getItem(KEY));
  } catch {
    return chosen;
  }
}

function keep(theme: Theme): void {
  chosen = theme;
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It holds until the page is left.
  }
  window.dispatchEvent(new Event(CHANGED));
}

/** The theme, its inks, and how to go on to the next one; the style of the page follows it. */
export function useTheme(): { theme: Theme; own: Inks; next: () => void } {
  const [theme, setTheme] = useState(kept);
  const [systemDark, setSystemDark] = useState(() => window.matchMedia(SCHEME).matches);
  useEffect(() => {
    const scheme = window.matchMedia(SCHEME);
    const follow = () => setSystemDark(scheme.matches);
    const change = () => setTheme(kept());
    scheme.addEventListener("change", follow);
    window.addEventListener(CHANGED, change);
    return () => {
      scheme.removeEventListener("change", follow);
      window.removeEventListener(CHANGED, change);
    };
  }, []);
  const dark = theme === "dark" || (theme === "system" && systemDark);
  useEffect(() => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  }, [dark]);
  return { theme, own: inks(dark), next: () => keep(themeAfter(theme)) };
}
