/** @file What is done about a repaired model being the same function, before it is put in place. */

import { createRequire } from "node:module";
import { InputError, invariant } from "../ir/errors.ts";
import { counted, percent, significant } from "../ir/format.ts";
import { maxOf } from "../ir/lists.ts";
import { butFor, otherwiseIn } from "../ir/otherwise.ts";
import {
  type Budget,
  budgets,
  CrashError,
  compareModels,
  doings,
  type Tensors,
  type VerifyOptions,
  type VerifyReport,
  worstOutputs,
} from "../verify/index.ts";
import { DifferenceError, type Proof } from "./fix.ts";

export interface ProofRequest
  extends Pick<
    VerifyOptions,
    | "childUrl"
    | "sizes"
    | "onProgress"
    | "permutations"
    | "stacked"
    | "assumesFinite"
    | "timeoutSeconds"
    | "memoryBytes"
  > {
  /** As messages name it. */
  readonly path: string;
  readonly original: string;
  readonly candidate: string;
  /** Inputs of the user: compared on where none can be drawn. */
  readonly samples?: readonly Tensors[] | undefined;
  /** Undefined where the result keeps its precision. */
  readonly half: "fp16" | "bf16" | undefined;
  /** Instead of a child process that runs both. */
  readonly compare?: typeof compareModels | undefined;
}

/** Throws InputError `not-the-same` where outputs differ, and what `compareModels` throws. */
export async function proveSame(request: ProofRequest): Promise<Proof> {
  return proofOf(request, [await heldSame(request)]);
}

/** What the comparison found, of a result that is the same. Throws as `proveSame` does. */
export async function heldSame({ samples = [], ...request }: ProofRequest): Promise<VerifyReport> {
  try {
    return await compared(request);
  } catch (error) {
    const isUndrawn = error instanceof InputError && error.code === "unknown-shape";
    if (!isUndrawn || samples.length === 0) throw error;
  }
  const reports: VerifyReport[] = [];
  for (const inputs of samples) reports.push(await compared(request, inputs));
  const [first] = reports;
  invariant(first !== undefined, "samples without a report");
  return { ...first, draws: reports.flatMap(({ draws }) => draws), outputs: worstOutputs(reports) };
}

async function compared(
  { path, original, candidate, half, compare = compareModels, ...options }: Omit<ProofRequest, "samples">,
  inputs?: Tensors,
): Promise<VerifyReport> {
  const budget = budgetOf(half);
  const inputsFlag = half === undefined ? null : "--samples";
  const asked = { ...options, inputs, inputsFlag, budget, otherSizes: true };
  const { report } = await compare(original, candidate, asked).catch((error: unknown) => {
    throw refusalOf(error, path);
  });
  if (report.same) return report;
  const detail = whereItDiffers(report).replaceAll(candidate, "the result");
  throw new DifferenceError(path, detail, report.firstDivergence?.isDecision === true);
}

/** Of one result that was compared in each of these ways; the last is told of, with the worst that any has found. */
export function proofOf(
  { half, stacked }: Pick<ProofRequest, "half" | "stacked">,
  reports: readonly VerifyReport[],
): Proof {
  const report = reports.at(-1);
  invariant(report !== undefined, "a proof without a comparison");
  const outputs = worstOutputs(reports);
  const runs = stacked && ` (runs of the original on ${counted(stacked.size, "sample")}, stacked)`;
  const draws = `${counted(report.draws.length, "input set")}${runs ?? ""}`;
  const notices = report.notices.map((notice) => `; ${notice}`).join("");
  const within = `within ${budgetText(budgetOf(half))}${errorText(report.budget, outputs)}`;
  return {
    kind: "verified",
    otherwise: otherwiseIn(outputs),
    summary: `with ${report.runtime} on ${draws}${butFor(outputs)}, ${within}${notices}`,
  };
}

function budgetOf(half: ProofRequest["half"]): Budget {
  if (half === undefined) return budgets.folding;
  return half === "bf16" ? budgets.bfloat16 : budgets.float16;
}

function refusalOf(error: unknown, path: string): unknown {
  // The original survived what it ran on before.
  if (error instanceof CrashError && error.doing.startsWith(doings.candidate)) {
    const doing = error.doing.replace(`${doings.candidate}, `, "");
    return new DifferenceError(path, `ONNX Runtime crashes on it (${doing}) and not on the original`);
  }
  const isUnrun = error instanceof InputError && unrun.has(error.code);
  return isUnrun ? unproven(error) : error;
}

/** Codes of originals that nothing is known of. */
const unrun: ReadonlySet<string> = new Set(["cannot-run", "unknown-shape", "unsupported-input"]);

/** What the original does not do in ONNX Runtime cannot be compared with anything. */
function unproven(error: InputError): InputError {
  const hint = "so no result can be compared with it; --no-verify writes one unverified";
  return new InputError(error.code, `${error.message}; ${hint}`, { cause: error });
}

function whereItDiffers({ outputs, problems, firstDivergence }: VerifyReport): string {
  if (problems.length > 0) return problems.join("; ");
  const worst = outputs.find(({ same }) => !same);
  if (worst === undefined) return "it has no outputs";
  const what = worst.unproven === true ? `is not proven${noProof(worst)}` : "differs";
  return `output "${worst.name}" ${what}${partingText(firstDivergence)} (inputs: ${worst.draw})`;
}

/** What is allowed, which is too much. */
function noProof({ difference, allowed, ties }: VerifyReport["outputs"][number]): string {
  if (difference === undefined || allowed === undefined) return "";
  if (ties !== undefined)
    return `: rounding may move ${ties.of} by ${significant(ties.within / 2)}, of ${significant(ties.largest)}`;
  const { maximumError, largest, mismatches, elements } = difference;
  return mismatches > 0
    ? `: ${mismatches} of ${elements} elements are otherwise`
    : `: its error is ${significant(maximumError)} of ${significant(largest)}, and rounding may cost ${significant(allowed.maximumError)}`;
}

function partingText(first: VerifyReport["firstDivergence"]): string {
  if (first === undefined) return "";
  const { value, operator, node, isDecision } = first;
  return isDecision
    ? `; ${operator} "${node}" decides "${value}" otherwise, between values that half precision does not tell apart`
    : `; the first difference is in "${value}", computed by ${operator}`;
}

/** In half precision the budget is what rounding costs, which a model may make much of. */
function errorText(budget: Budget, outputs: VerifyReport["outputs"]): string {
  if (budget.kind !== "half") return "";
  const shares = outputs.flatMap(({ difference }) =>
    difference === undefined || difference.largest === 0 ? [] : difference.maximumError / difference.largest,
  );
  return shares.length === 0
    ? ""
    : ` (the largest error is ${percent(maxOf(shares))} of an output's largest value)`;
}

function budgetText(budget: Budget): string {
  if (budget.kind === "relative") return `${budget.tolerance} of each output's largest value`;
  return `${budget.factor} times what rounding to ${budget.dtype} costs`;
}

/**
 * What the model's own metadata says about its proof: written before the comparison, and put in place only after it.
 * The version is that of the package which will be loaded.
 */
export function promisedProof(): string {
  return `verified with ONNX Runtime${installedVersion()}`;
}

function installedVersion(): string {
  const require = createRequire(import.meta.url);
  try {
    const found: unknown = require("onnxruntime-node/package.json");
    const isPackage = typeof found === "object" && found !== null && "version" in found;
    return isPackage ? ` ${String(found.version)}` : "";
  } catch (error) {
    // Absent: the comparison will say so, and nothing will be put in place.
    if (error instanceof Error && "code" in error && error.code === "MODULE_NOT_FOUND") return "";
    throw error;
  }
}
