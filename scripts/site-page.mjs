// The page to drop a model on, as text: one file that needs no other, and asks for none.
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "esbuild";
import { buildReportPage, inPage } from "./report-page.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const nodeFolder = join(root, "src/site/node");

/** Of Node's modules what src/site/node has; whatever else somebody imports ends the build, naming who. */
const nodeModules = {
  name: "node-modules",
  setup(plugin) {
    plugin.onResolve({ filter: /^node:/ }, ({ path, importer }) => {
      const file = join(nodeFolder, `${path.slice("node:".length)}.ts`);
      if (existsSync(file)) return { path: file };
      return { errors: [{ text: `${importer} imports ${path}, which a browser has not` }] };
    });
  },
};

/** The page's text, its scripts' bytes, and what went into them. */
export async function buildSitePage() {
  const { text: report } = await buildReportPage();
  const engine = await build({
    ...inPage,
    entryPoints: ["src/site/engine/worker.ts"],
    plugins: [nodeModules],
    define: { TC_LINT_REPORT_SCRIPT: JSON.stringify(report) },
  });
  await checkGlobals(Object.keys(engine.metafile.inputs));
  const page = await build({ ...inPage, entryPoints: ["src/site/page/main.ts"] });
  const scripts = {
    page: page.outputFiles[0].text,
    engine: withoutEndTags(engine.outputFiles[0].text),
    report,
  };
  const { shellOf } = await shell();
  const bytes = Object.fromEntries(Object.entries(scripts).map(([name, { length }]) => [name, length]));
  return { text: shellOf(scripts), bytes, metafile: engine.metafile };
}

/** Node's globals have no place in what a browser runs: where one is named, it has to be imported. */
async function checkGlobals(files) {
  for (const file of files.filter((path) => /^(src|rules)\//.test(path) && !path.startsWith("src/site/"))) {
    const text = await readFile(join(root, file), "utf8");
    for (const [use, from] of [
      [/\bBuffer\b/, "node:buffer"],
      [/\bprocess\.\w/, "node:process"],
    ])
      if (use.test(text) && !text.includes(`from "${from}"`))
        throw new Error(`${file} is part of the page, and uses a global of Node's: import it from ${from}`);
  }
}

/** Templates with a tag keep what they are written with; the escape means the same in them, as in strings. */
function withoutEndTags(script) {
  return script.replaceAll("</script", "<\\/script");
}

/** It is TypeScript, as the report's style is: a file for a moment, so that what it throws has a short name. */
async function shell() {
  const folder = await mkdtemp(join(tmpdir(), "tc-lint-shell-"));
  const outfile = join(folder, "shell.mjs");
  try {
    await build({
      absWorkingDir: root,
      entryPoints: ["src/site/shell.ts"],
      bundle: true,
      platform: "node",
      format: "esm",
      target: "node20",
      logLevel: "warning",
      outfile,
    });
    return await import(pathToFileURL(outfile).href);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
