/** Where in the page one is, as the part of the address behind `#`: so that links and the back button work. */

export type Route =
  | { at: "home"; filter: string; chosen: string[]; order: string }
  | { at: "runs"; ids: string[] }
  | { at: "job"; id: string }
  | { at: "new"; origin: string }
  | { at: "guide" };

/** Where a new run begins that has no scenario yet. */
export const EMPTY = "empty";

/** Reads an address; what is none is the home. */
export function routeOf(hash: string): Route {
  const [path = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  const options = new URLSearchParams(query);
  const [kind = "", rest = ""] = path.split("/");
  const ids = listOf(rest);
  if (kind === "runs" && ids.length) return { at: "runs", ids };
  if (kind === "jobs" && rest) return { at: "job", id: rest };
  if (kind === "new") return { at: "new", origin: options.get("from") ?? "" };
  if (kind === "guide") return { at: "guide" };
  const [filter, order] = [options.get("filter") ?? "", options.get("order") ?? ""];
  return { at: "home", filter, chosen: listOf(options.get("chosen") ?? ""), order };
}

/** Writes the address of a place. */
export function hashOf(route: Route): string {
  switch (route.at) {
    case "runs":
      return `#/runs/${route.ids.join(",")}`;
    case "job":
      return `#/jobs/${route.id}`;
    case "new":
      return route.origin ? `#/new?${new URLSearchParams({ from: route.origin })}` : "#/new";
    case "guide":
      return "#/guide";
    case "home": {
      const options = new URLSearchParams();
      if (route.filter) options.set("filter", route.filter);
      if (route.chosen.length) options.set("chosen", route.chosen.join(","));
      if (route.order) options.set("order", route.order);
      return options.size ? `#/?${options}` : "#/";
    }
  }
}

/** Ids are letters, digits and `._:~-`, so that a comma can stand between them. */
const listOf = (text: string): string[] => [...new Set(text.split(",").filter((id) => /^[\w.:~-]+$/.test(id)))];
