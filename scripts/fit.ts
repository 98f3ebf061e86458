/**
 * @file Fits the cost model: writes src/cost/coefficients/h200-cudnn.ts, src/cost/fit-report.json, docs/cost-model.svg.
 *
 * node scripts/run.mjs scripts/fit.ts
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { isMainThread } from "node:worker_threads";
import { type Figures, figuresOf, groupsOf, type Outcome, tableOf } from "../bench/pair-figures.ts";
import type { CommittedCalibration } from "../src/cost/calibration.ts";
import type { Family } from "../src/cost/sketch.ts";
import { at } from "./fit/bins.ts";
import { type Inputs, loadSamples } from "./fit/data.ts";
import { type FamilyResult, familyResult } from "./fit/family.ts";
import { figure, type Panel } from "./fit/figure.ts";
import { withFigures } from "./fit/markdown.ts";
import { moduleText } from "./fit/pack.ts";
import { serveTasks, TrainingPool } from "./fit/parallel.ts";
import {
  changeOutcomes,
  type ErrorFigures,
  errorFigures,
  type FamilyPair,
  type PairFigures,
  pairFigures,
} from "./fit/report.ts";

const coefficientsFile = "src/cost/coefficients/h200-cudnn.ts";
const documentFile = "docs/cost-model.md";
const figureFile = "docs/cost-model.svg";
const reportFile = "src/cost/fit-report.json";

type Results = Readonly<Record<Family, FamilyResult>>;

async function main(inputs: Inputs): Promise<void> {
  const pool = new TrainingPool(fileURLToPath(import.meta.url));
  const fitOne = async (family: Family) => {
    const samples = inputs.samples.filter((sample) => sample.family === family);
    return { samples, learned: await pool.learn(family, samples.length) };
  };
  // What takes longest first.
  const families: readonly Family[] = ["conv", "gemm", "attention", "walk", "traffic", "recurrent"];
  const fits = new Map(
    await Promise.all(families.map(async (family) => [family, await fitOne(family)] as const)),
  );
  await pool.close();
  const resultOf = (family: Family) => {
    const fit = fits.get(family);
    if (fit === undefined) throw new Error(`${family} was not fitted`);
    return familyResult(fit.samples, fit.learned);
  };
  const results: Results = {
    gemm: resultOf("gemm"),
    conv: resultOf("conv"),
    attention: resultOf("attention"),
    traffic: resultOf("traffic"),
    walk: resultOf("walk"),
    recurrent: resultOf("recurrent"),
  };
  const calibration = calibrationOf(results);
  writeFileSync(coefficientsFile, moduleText(calibration));
  execFileSync("npx", ["biome", "format", "--write", coefficientsFile], { stdio: "ignore" });
  const report = reportOf(results, inputs, sha256(JSON.stringify(calibration)));
  writeFileSync(reportFile, `${JSON.stringify(report, undefined, 2)}\n`);
  writeFileSync(documentFile, withFigures(readFileSync(documentFile, "utf8"), report));
  console.log(`Measured changes, out of fold:\n\n${tableOf(outcomesOf(results))}`);
  writeFileSync(figureFile, figure(panelsOf(results), "Predicted against measured on an H200 (out of fold)"));
}

function outcomesOf(results: Results): Outcome[] {
  const families = Object.entries(results) as [Family, FamilyResult][];
  return changeOutcomes(
    families.flatMap(([family, { validation }]) =>
      validation.pairs.map((pair) => ({ family, validation, pair })),
    ),
  );
}

function calibrationOf(results: Results): CommittedCalibration {
  const { gemm, conv, attention, traffic, walk, recurrent } = results;
  const byFamily = <T>(pick: (result: FamilyResult) => T): Record<Family, T> => ({
    gemm: pick(gemm),
    conv: pick(conv),
    attention: pick(attention),
    traffic: pick(traffic),
    walk: pick(walk),
    recurrent: pick(recurrent),
  });
  return {
    schema: 1,
    gpu: "h200",
    stack: "cudnn",
    source: "PyTorch 2.11, CUDA 13.0, cuDNN 9.19, driver 580.159, NVIDIA H200, 2026-11-21",
    coefficients: {
      gemm: gemm.coefficients.gemm,
      conv: conv.coefficients.conv,
      attention: attention.coefficients.attention,
      traffic: traffic.coefficients.traffic,
      walk: walk.coefficients.walk,
      recurrent: recurrent.coefficients.recurrent,
    },
    analytic: byFamily(({ analytic }) => analytic),
    residuals: byFamily(({ residual }) => residual),
  };
}

function reportOf(results: Results, { files, samples }: Inputs, coefficients: string) {
  const families: Record<string, ErrorFigures> = {};
  const pairs: FamilyPair[] = [];
  for (const [family, { validation }] of Object.entries(results) as [Family, FamilyResult][]) {
    const subsets = new Set(validation.samples.map(({ subset, origin }) => `${subset} (${origin})`));
    for (const name of subsets) {
      const chosen = (index: number) => {
        const { subset, origin } = at(validation.samples, index);
        return `${subset} (${origin})` === name;
      };
      families[name] = errorFigures(validation, chosen);
    }
    pairs.push(...validation.pairs.map((pair) => ({ family, validation, pair })));
  }
  return {
    made: "npm run fit",
    date: new Date().toISOString().slice(0, 10),
    data: Object.fromEntries(files.map((file) => [file, sha256(readFileSync(file, "utf8"))])),
    samples: samples.length,
    coefficients: { file: coefficientsFile, sha256: coefficients },
    method:
      "5 folds; repeated shapes and the two sides of a pair lie in one fold; percent; extra rows count in no goal",
    families,
    pairs: pairReport(pairs),
    changes: Object.fromEntries(
      groupsOf(changeOutcomes(pairs)).map(([name, some]) => [name, claimed(figuresOf(some))]),
    ),
  };
}

function claimed({ pairs, error, covered, gated }: Figures) {
  const shares = { error, covered, ...gated };
  const shown = Object.entries(shares).map(([name, value]) => [name, Number(value.toFixed(1))] as const);
  return { pairs, ...Object.fromEntries(shown) };
}

/** Shared rows by family; at most 600 points a panel, evenly taken. */
function panelsOf({ gemm, conv, attention, traffic }: Results): Panel[] {
  const panel = (title: string, { validation }: FamilyResult, subset: string): Panel => {
    const chosen = (index: number) => {
      const sample = at(validation.samples, index);
      return sample.origin !== "extra" && sample.subset === subset;
    };
    const rows = validation.samples.map((_, index) => index).filter(chosen);
    const { meanError, p90Error } = errorFigures(validation, chosen);
    const stride = Math.ceil(rows.length / 600);
    const points = rows
      .filter((_, index) => index % stride === 0)
      .map((index) => [at(validation.samples, index).microseconds, at(validation.predicted, index)] as const);
    return { title, note: `${rows.length} rows, mean error ${meanError} %, P90 ${p90Error} %`, points };
  };
  return [
    panel("gemm, FP16", gemm, "gemm fp16"),
    panel("batched gemm", gemm, "bmm"),
    panel("convolution", conv, "conv"),
    panel("attention", attention, "sdpa"),
    panel("memory-bound", traffic, "memory"),
  ];
}

function pairReport(pairs: readonly FamilyPair[]) {
  const originOf = ({ validation, pair }: FamilyPair) => {
    const extra = [pair.before, pair.after].filter(
      (index) => at(validation.samples, index).origin === "extra",
    );
    return extra.length === 0 ? "shared" : extra.length === 2 ? "extra" : "mixed";
  };
  const report: Record<string, PairFigures> = {};
  for (const origin of ["shared", "extra"]) {
    const some = pairs.filter((each) => originOf(each) === origin);
    const paddings = some.filter(({ pair }) => pair.kind === "padding");
    const contiguous = paddings.filter(({ pair }) => pair.axes !== "m");
    report[`all (${origin})`] = pairFigures(paddings);
    report[`without M (${origin})`] = pairFigures(contiguous);
    report[`from a misaligned size, without M (${origin})`] = pairFigures(
      contiguous.filter(({ pair }) => pair.misaligned),
    );
    for (const family of ["gemm", "conv", "attention"] as const) {
      const ofFamily = contiguous.filter((each) => each.family === family);
      report[`${family}, without M (${origin})`] = pairFigures(ofFamily);
    }
  }
  for (const kind of ["layout", "precision"] as const) {
    for (const family of ["gemm", "conv", "attention", "traffic", "walk"] as const) {
      const ofKind = pairs.filter((each) => each.pair.kind === kind && each.family === family);
      if (ofKind.length > 0) report[`${family}, ${kind}`] = pairFigures(ofKind);
    }
  }
  return report;
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

const inputs = loadSamples();
if (inputs === undefined) throw new Error("the shared measurements are not beside the repository");
if (isMainThread) await main(inputs);
else serveTasks(inputs.samples);
