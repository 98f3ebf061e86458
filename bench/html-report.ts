/**
 * @file How large the page of a model is, and how long a browser takes to open, sort and filter it:
 *
 *   npm run build && node scripts/run.mjs bench/html-report.ts [MODEL.onnx …]
 *
 * Without models, of resnet50 and of a synthetic graph of 100,000 nodes. Needs Chromium (TC_LINT_CHROMIUM names one that is not on PATH).
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { findChromium, launch } from "../test/report/html/chromium.ts";
import { blockNodes, writeSyntheticModel } from "./synthetic.ts";

const cli = path.resolve("dist/bin/tc-lint.js");
const runs = 5;
const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-html-"));
const chromium = findChromium();
if (chromium === undefined) process.exit(2);
const browser = await launch(chromium);
try {
  for (const model of modelsOf(process.argv.slice(2)))
    console.log(JSON.stringify(await measured(model, browser)));
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}

function modelsOf(given: readonly string[]): readonly string[] {
  if (given.length > 0) return given;
  const synthetic = path.join(folder, "synthetic-100000.onnx");
  writeSyntheticModel(synthetic, 100_000 / blockNodes);
  return [path.resolve("fixtures/zoo/resnet50.onnx"), synthetic];
}

async function measured(model: string, browser: Browser) {
  const report = path.join(folder, "report.html");
  const start = performance.now();
  execFileSync(process.execPath, [cli, model, "--exit-zero", "-f", `html=${report}`]);
  const lintSeconds = (performance.now() - start) / 1000;
  const times: (readonly number[])[] = [];
  for (let run = 0; run < runs; run++) times.push(await opened(pathToFileURL(report).href, browser));
  const least = (index: number) => Math.round(Math.min(...times.map((each) => each[index] ?? Number.NaN)));
  return {
    model: path.basename(model),
    lintSeconds: Number(lintSeconds.toPrecision(3)),
    kilobytes: Math.round(statSync(report).size / 1000),
    openMilliseconds: least(0),
    readyMilliseconds: least(1),
    sortMilliseconds: least(2),
    filterMilliseconds: least(3),
  };
}

/** From nothing to the load event; to where the script has read all layers; one sort; one filter. */
async function opened(url: string, browser: Browser): Promise<readonly number[]> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  try {
    const start = performance.now();
    await page.goto(url);
    const open = performance.now() - start;
    await page.locator(".layers[data-ready]").first().waitFor({ state: "attached" });
    const ready = performance.now() - start;
    const head = page.locator(".layers").first().getByRole("columnheader", { name: "Node", exact: true });
    const sorting = performance.now();
    await head.getByRole("button").click();
    const sort = performance.now() - sorting;
    const filtering = performance.now();
    await page.getByRole("searchbox").first().fill("conv");
    return [open, ready, sort, performance.now() - filtering];
  } finally {
    await page.close();
  }
}
