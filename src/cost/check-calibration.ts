/** @file Whether a value read from a file is a calibration, in words for whoever wrote the file. */
import { findGpu, gpus } from "../hardware/gpus.ts";
import { findStack, stackIds } from "../hardware/stacks.ts";
import type { Calibration } from "./calibration.ts";
import { changeKinds } from "./change.ts";
import { h200Calibration } from "./coefficients/h200-cudnn.ts";
import { Forest, type PackedForest } from "./forest.ts";

/** The calibration, or what is wrong with it. */
export function checkCalibration(value: unknown): { calibration: Calibration } | { problem: string } {
  const problem = problemOf(value);
  // Every field that is read was checked above.
  return problem === undefined ? { calibration: value as Calibration } : { problem };
}

function problemOf(value: unknown): string | undefined {
  if (!isRecord(value)) return "expected an object";
  const { schema, gpu, stack, source, coefficients, analytic = {}, residuals = {} } = value;
  if (schema !== 1) return '"schema" is not 1, the only version there is';
  if (typeof gpu !== "string" || findGpu(gpu)?.id !== gpu)
    return `"gpu" is none of ${[...gpus.keys()].join(", ")}`;
  if (typeof stack !== "string" || findStack(stack) === undefined)
    return `"stack" is none of ${stackIds.join(", ")}`;
  if (typeof source !== "string") return '"source" does not say what was measured';
  return (
    numbersProblem(coefficients, h200Calibration.coefficients, "coefficients") ??
    numbersProblem(analytic, h200Calibration.analytic, "analytic") ??
    residualsProblem(residuals)
  );
}

/** `value` may hold positive numbers where `model` does, and nothing else. */
function numbersProblem(value: unknown, model: object, at: string): string | undefined {
  if (!isRecord(value)) return `"${at}" is not an object`;
  const known = new Map<string, unknown>(Object.entries(model));
  for (const [name, each] of Object.entries(value)) {
    const like = known.get(name);
    if (like === undefined) return `"${at}.${name}" is unknown; known: ${[...known.keys()].join(", ")}`;
    const problem = isRecord(like)
      ? numbersProblem(each, like, `${at}.${name}`)
      : positiveProblem(each, `${at}.${name}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function positiveProblem(value: unknown, at: string): string | undefined {
  return typeof value === "number" && value > 0 && value < 1e9
    ? undefined
    : `"${at}" is not a number above 0`;
}

function residualsProblem(residuals: unknown): string | undefined {
  if (!isRecord(residuals)) return '"residuals" is not an object';
  const known = Object.keys(h200Calibration.residuals);
  for (const [family, residual] of Object.entries(residuals)) {
    if (!known.includes(family)) return `"residuals.${family}" is unknown; known: ${known.join(", ")}`;
    const problem = isRecord(residual) ? residualProblem(residual) : "not an object";
    if (problem !== undefined) return `"residuals.${family}": ${problem}`;
  }
  return undefined;
}

function residualProblem({
  mean,
  spread,
  range,
  shared,
  savingScale,
  change,
}: Record<string, unknown>): string | undefined {
  const ofRange = rangeProblem(range, "range");
  if (ofRange !== undefined) return ofRange;
  if (typeof shared !== "number" || !(shared >= 0 && shared <= 1)) return '"shared" is not between 0 and 1';
  return (
    positiveProblem(savingScale, "savingScale") ??
    forestProblem(mean, "mean") ??
    forestProblem(spread, "spread") ??
    (change === undefined ? undefined : changeProblem(change))
  );
}

function changeProblem(change: unknown): string | undefined {
  if (!isRecord(change) || !isRecord(change["ranges"])) return '"change" has no "spread" and "ranges"';
  for (const [kind, range] of Object.entries(change["ranges"])) {
    if (!changeKinds.some((each) => each === kind))
      return `"change.ranges.${kind}" is unknown; known: ${changeKinds.join(", ")}`;
    const problem = rangeProblem(range, `change.ranges.${kind}`) ?? scaleProblem(range, kind);
    if (problem !== undefined) return problem;
  }
  return forestProblem(change["spread"], "change.spread");
}

function scaleProblem(range: unknown, kind: string): string | undefined {
  const scale = isRecord(range) ? range["scale"] : undefined;
  return scale === undefined ? undefined : positiveProblem(scale, `change.ranges.${kind}.scale`);
}

function rangeProblem(range: unknown, at: string): string | undefined {
  if (!isRecord(range) || typeof range["low"] !== "number" || typeof range["high"] !== "number") {
    return `"${at}" has no "low" and "high"`;
  }
  return range["low"] < 0 && range["high"] > 0 ? undefined : `"${at}" does not enclose 0`;
}

function forestProblem(value: unknown, name: string): string | undefined {
  if (!isPacked(value)) return `"${name}" is not a table of trees`;
  try {
    new Forest(value);
  } catch (error) {
    return `"${name}": ${error instanceof Error ? error.message : String(error)}`;
  }
  return undefined;
}

function isPacked(value: unknown): value is PackedForest {
  if (!isRecord(value)) return false;
  const { counts, thresholds, base, step, trees, nodes, deflated } = value;
  const whole = (count: unknown) => Number.isInteger(count) && Number(count) >= 0 && Number(count) < 100_000;
  return (
    Array.isArray(counts) &&
    counts.every(whole) &&
    whole(trees) &&
    Number.isFinite(base) &&
    Number.isFinite(step) &&
    typeof thresholds === "string" &&
    typeof nodes === "string" &&
    (deflated === undefined || typeof deflated === "boolean")
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
