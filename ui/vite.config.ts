import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

/** One HTML file with script and style inside, put where the Python package finds it as `template.html`. */
export default defineConfig({
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  build: {
    outDir: "../python/anabranch/page",
    emptyOutDir: false,
    modulePreload: false,
    rollupOptions: { input: "template.html" },
  },
});
