/** Light or dark: as the system has it, or as the reader wants it. */

import { useEffect, useState } from "preact/hooks";

import { type Inks, inks } from "./colours";

const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const SCHEME = "(prefers-color-scheme: dark)";

export const themeNamed = (name: string | undefined): Theme => THEMES.find((theme) => theme === name) ?? "system";

export const themeAfter = (theme: Theme): Theme => THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] as Theme;

/** The inks of a theme; the style of the page follows it. */
export function useTheme(theme: Theme): Inks {
  const [systemDark, setSystemDark] = useState(() => window.matchMedia(SCHEME).matches);
  useEffect(() => {
    const scheme = window.matchMedia(SCHEME);
    const follow = () => setSystemDark(scheme.matches);
    scheme.addEventListener("change", follow);
    return () => scheme.removeEventListener("change", follow);
  }, []);
  const dark = theme === "dark" || (theme === "system" && systemDark);
  useEffect(() => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
  }, [dark]);
  return inks(dark);
}
