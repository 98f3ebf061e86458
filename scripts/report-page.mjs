// The script of HTML reports, as text: dist/report-page.js, and what tests put into pages.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** How a script is built that stands in a page: it imports nothing, and nothing in it ends its script element. */
export const inPage = {
  absWorkingDir: root,
  bundle: true,
  platform: "browser",
  format: "iife",
  target: "es2022",
  minify: true,
  supported: { "inline-script": false },
  charset: "ascii",
  legalComments: "none",
  logLevel: "warning",
  write: false,
  metafile: true,
};

export async function buildReportPage() {
  const { outputFiles, metafile } = await build({
    ...inPage,
    entryPoints: [join(root, "src/report/html/browser/main.ts")],
  });
  return { text: outputFiles[0].text, metafile };
}
