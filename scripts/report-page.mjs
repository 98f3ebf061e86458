// The script of HTML reports, as text: dist/report-page.js, and what tests put into pages.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));

/** One script for a page, which imports nothing. */
export async function buildReportPage() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [join(root, "src/report/html/browser/main.ts")],
    bundle: true,
    platform: "browser",
    format: "iife",
    target: "es2022",
    minify: true,
    // What stands in a page inside a script element cannot end it.
    supported: { "inline-script": false },
    charset: "ascii",
    legalComments: "none",
    logLevel: "warning",
    write: false,
    metafile: true,
  });
  return { text: outputFiles[0].text, metafile };
}
