/**
 * @file What FP16 costs where activations leave its range: networks of real size whose weights are too large, brought to FP16
 * with ranges seen on drawn inputs and verified, beside the same fix that knows no ranges.
 *
 *   node scripts/run.mjs bench/overflow.ts [--width 64] [--side 64] [--batch 8]
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { overflowing } from "../fixtures/overflowing.ts";
import { createCostModel } from "../src/cost/model.ts";
import { fixModel, type Verify } from "../src/fix/fix.ts";
import { proveHalf } from "../src/fix/half-proof.ts";
import { rangesFor } from "../src/fix/observed-ranges.ts";
import type { FixSettings } from "../src/fix/pipeline.ts";
import { findGpu } from "../src/hardware/gpus.ts";
import { stacks } from "../src/hardware/stacks.ts";
import { align } from "../src/passes/align/align.ts";
import { fold } from "../src/passes/fold/fold.ts";
import { half } from "../src/passes/half/half.ts";
import { rescale } from "../src/passes/half/rescale.ts";

const { values: flags } = parseArgs({
  options: {
    width: { type: "string", default: "64" },
    side: { type: "string", default: "64" },
    batch: { type: "string", default: "8" },
  },
});
const gpu = findGpu("h200");
if (gpu === undefined) throw new Error("no such GPU");

// Of the build: `npm run build` makes it.
const childUrl = pathToFileURL(resolve("dist/verify-child.js"));
const settings: FixSettings = {
  target: { gpu, stack: stacks.cudnn, precision: "fp16" },
  cost: createCostModel({ inModels: true }),
  passes: [fold, align, rescale, half],
  minSaving: 0.005,
  options: { halfType: "float16", halfIo: false, ranges: undefined, nhwcIo: false, nhwcForm: "portable" },
};
const folder = mkdtempSync(join(tmpdir(), "overflow-"));
const size = { width: Number(flags.width), side: Number(flags.side), batch: Number(flags.batch) };

try {
  console.log(`width ${size.width}, ${size.side}×${size.side}, batch ${size.batch}\n`);
  console.log("| network | weights | largest value | FP32 | FP16, range unknown | FP16, verified | more |");
  console.log("|---|---|--:|--:|--:|--:|--:|");
  for (const name of ["vgg", "alex", "squeeze"] as const) {
    for (const isConstant of [false, true]) console.log(await row(name, isConstant));
  }
} finally {
  rmSync(folder, { recursive: true });
}

async function row(name: keyof typeof overflowing, isConstant: boolean): Promise<string> {
  const path = join(folder, `${name}.onnx`);
  writeFileSync(path, overflowing[name]({ ...size, isConstant }));
  const quiet = { childUrl, sizes: {}, onProgress: () => {} };
  const own = { samples: undefined, mayDraw: true, within: <T>(work: () => T) => work() };
  const { ranges } = await rangesFor({ path, settings, ...own, ...quiet });
  const verify: Verify = (original, candidate, { permutations }) =>
    proveHalf({ path, original, candidate, permutations, half: "fp16", ...quiet }, "float16");
  const request = { path, destination: `${path}.half.onnx`, promise: "", verify };
  const blind = await fixModel({ ...request, settings, dryRun: true });
  const seen = { ...settings, options: { ...settings.options, ranges } };
  const fixed = await fixModel({ ...request, settings: seen, dryRun: false });
  const largest = Math.max(...(ranges?.largest.values() ?? []));
  const micros = (time: number) => `${time.toPrecision(4)} µs`;
  const { before, after } = fixed.microseconds;
  const more = (100 * (after / blind.microseconds.after - 1)).toFixed(1);
  const cells = [
    name,
    isConstant ? "constant" : "random",
    largest.toExponential(1),
    micros(before),
    micros(blind.microseconds.after),
    micros(after),
    `${more} %`,
  ];
  return `| ${cells.join(" | ")} |`;
}
