/** How wide texts are, in pixels. */

let context: CanvasRenderingContext2D | null | undefined;

/** How wide a text is in a font. */
export function widthOfText(text: string, font: string): number {
  context ??= document.createElement("canvas").getContext("2d");
  if (!context) return 0;
  context.font = font;
  return context.measureText(text).width;
}
