/**
 * @file How large the page to drop a model on is, and what Chromium takes to lint a model of gigabytes there:
 *
 *   npm run build:site && node scripts/run.mjs bench/site.ts [MODEL.onnx …]
 *
 * Without models, of the zoo's video_unet_192 with 1.6 GB of weights inside the file: holes, which are read as any bytes are. A model
 * that is named is taken as it is, with the `.weights`, `.data` and `.onnx_data` beside it. Needs Chromium.
 */
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Browser } from "playwright-core";
import { findChromium, launch } from "../test/report/html/chromium.ts";
import { give, visit } from "../test/site/page.ts";
import { serve } from "../test/site/server.ts";
import { inlineHoles } from "./inline.ts";

const runs = 5;
const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-site-"));
const chromium = findChromium();
if (chromium === undefined) process.exit(2);
const text = readFileSync("dist/site/index.html", "utf8");
console.log(JSON.stringify({ pageKilobytes: Math.round(text.length / 1000) }));
const server = await serve(text);
const browser = await launch(chromium);
try {
  for (const model of modelsOf(process.argv.slice(2)))
    console.log(JSON.stringify(await measured(model, browser)));
} finally {
  await browser.close();
  await server.close();
  rmSync(folder, { recursive: true, force: true });
}

function modelsOf(given: readonly string[]): readonly string[] {
  if (given.length > 0) return given;
  const large = path.join(folder, "video_unet_192.onnx");
  const skeleton = "../shared/zoo/video_unet_192.onnx";
  if (!existsSync(skeleton)) throw new Error(`${skeleton} is not here: name a model`);
  inlineHoles(skeleton, large);
  return [large];
}

/** Seconds from the choice of files to the report's figures, and to the report on the screen; the first with a worker to start. */
async function measured(model: string, browser: Browser) {
  const beside = [".weights", ".data", ".onnx_data"].map((ending) => model.replace(/\.onnx$/, ending));
  const files = [model, ...beside.filter((file) => file !== model && existsSync(file))];
  const times: (readonly number[])[] = [];
  let memory = 0;
  for (let run = 0; run < runs; run++) {
    const { page, said } = await visit(browser, server.address);
    const start = performance.now();
    await give(page, files);
    const linted = performance.now();
    await page.frameLocator("#report").locator("h2").first().waitFor();
    times.push([linted - start, performance.now() - start]);
    const failure = await page.locator("#failure").textContent();
    if (failure !== "" || said.length > 0) throw new Error([failure, ...said].join("; "));
    memory = Math.max(memory, ...rendererBytes());
    await page.close();
  }
  const seconds = (column: number) => {
    const sorted = times.map((each) => (each[column] ?? Number.NaN) / 1000).sort((a, b) => a - b);
    return { median: Number(sorted[runs >> 1]?.toFixed(2)), worst: Number(sorted.at(-1)?.toFixed(2)) };
  };
  return {
    model: path.basename(model),
    megabytes: Math.round(files.reduce((sum, file) => sum + statSync(file).size, 0) / 1e6),
    lintedSeconds: seconds(0),
    shownSeconds: seconds(1),
    rendererMegabytes: Math.round(memory / 1e6),
  };
}

/** Resident bytes of every process of a page; none where the system does not say. */
function rendererBytes(): number[] {
  if (!existsSync("/proc/self/status")) return [];
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--type=renderer")) return [];
        const status = readFileSync(`/proc/${pid}/status`, "utf8");
        return [Number(/VmHWM:\s*(\d+)/.exec(status)?.[1] ?? 0) * 1024];
      } catch {
        // It has ended since it was listed.
        return [];
      }
    });
}
