/** Saving what is shown: a table as CSV, a picture as PNG. */

import { type ChartSpec, type Key, swatchHeight } from "./chart_spec";
import type { Inks } from "./colours";
import { sampled } from "./units";

/** A table as CSV, with a row of names first; what is not there is empty. */
export function csvText(names: string[], rows: (string | number | null | undefined)[][]): string {
  return [names, ...rows]
    .map((row) => row.map(cell).join(","))
    .join("\r\n")
    .concat("\r\n");
}

function cell(value: string | number | null | undefined): string {
  if (value == null || (typeof value === "number" && Number.isNaN(value))) return "";
  const text = String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** The samples of a chart within a span of time: a column for each line, as they are drawn. */
export function chartCsv(chart: Pick<ChartSpec, "lines">, times: number[], [from, to]: [number, number]): string {
  const names = ["time_s", ...chart.lines.map((line) => line.label)];
  const rows = times.flatMap((time, sample) =>
    time < from || time > to ? [] : [[time, ...chart.lines.map((line) => sampled(line.values[sample]))]],
  );
  return csvText(names, rows);
}

/** A name for a file: letters and digits of a title. */
export const fileName = (title: string, suffix: string): string =>
  `${
    title
      .replace(/[^\p{L}\p{N}]+/gu, "-")
      .replace(/^-+|-+$/g, "")
      .slice(0, 60) || "anabranch"
  }.${suffix}`;

export function saveText(text: string, name: string): void {
  save(new Blob([text], { type: "text/csv;charset=utf-8" }), name);
}

/** A canvas as a picture with a title above it and the keys of its lines below. */
export function savePicture(
  canvas: HTMLCanvasElement,
  { title, keys, own, name }: { title: string; keys: Key[]; own: Inks; name: string },
): void {
  const ratio = canvas.width / (canvas.clientWidth || canvas.width);
  const [line, gap, width] = [18, 14, canvas.width / ratio];
  const picture = document.createElement("canvas");
  const context = picture.getContext("2d");
  if (!context) return;
  const font = "12px system-ui, sans-serif";
  context.font = font;
  const places: { x: number; row: number; key: Key }[] = [];
  let [x, row] = [gap, 0];
  for (const key of keys) {
    const room = 22 + context.measureText(key.label).width + gap;
    if (x > gap && x + room > width) [x, row] = [gap, row + 1];
    places.push({ x, row, key });
    x += room;
  }
  const below = keys.length ? (row + 1) * line + 8 : 0;
  picture.width = canvas.width;
  picture.height = canvas.height + ratio * (line + 8 + below);
  context.scale(ratio, ratio);
  context.fillStyle = own.paper;
  context.fillRect(0, 0, picture.width, picture.height);
  context.font = font;
  context.fillStyle = own.ink;
  context.fillText(title, gap, line);
  context.drawImage(canvas, 0, line + 8, width, canvas.height / ratio);
  for (const { x, row, key } of places) {
    const y = line + 8 + canvas.height / ratio + (row + 1) * line - 5;
    const height = swatchHeight(key);
    context.fillStyle = key.colour;
    context.fillRect(x, y - 3.5 - height / 2, 14, height);
    context.fillStyle = own.ink;
    context.fillText(key.label, x + 18, y);
  }
  picture.toBlob((blob) => blob && save(blob, name));
}

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
