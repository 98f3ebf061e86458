/** @file What is worth knowing and no finding: what inference noticed that is odd, and what decides the time where Tensor Cores do not. */
import { computeDtype, computeTypeOn } from "../cost/precision.ts";
import { standInText } from "../cost/rates.ts";
import type { Facts } from "../facts/infer.ts";
import { constantBehind } from "../facts/origin.ts";
import type { Scope } from "../facts/scope.ts";
import type { Precision, Target } from "../hardware/target.ts";
import { asStoredNotice, isHalf } from "../ir/fix-command.ts";
import { changeRange, compact, counted, duration, savingRange } from "../ir/format.ts";
import { labelOf } from "../ir/model.ts";
import { numbersOf } from "../ops/shape.ts";
import type { WrittenSaving } from "../workload/account.ts";
import { floatsOf } from "../workload/already-half.ts";
import { countedOnce, pricedBranches } from "../workload/branches.ts";
import { isOfCodes } from "../workload/codes.ts";
import { type CostedProduct, productsInFile } from "../workload/product.ts";
import type { Step, Timeline } from "../workload/timeline.ts";
import type { Workload } from "../workload/workload.ts";
import { memoryBeyondNotices } from "./beyond-memory.ts";
import { percentOf } from "./formats.ts";
import type { HalfBeside } from "./half-beside.ts";
import { inPartNotices } from "./in-part.ts";
import type { NoticeReport } from "./result.ts";

/** Of a workload; `asked` is the target, in the precision that it was asked in, `half` what that takes where it is left. */
export function noticesOf(workload: Workload, asked: Target, half?: HalfBeside): NoticeReport[] {
  return [
    ...contradictionNotices(workload.facts),
    ...plannedNotices(workload.timeline),
    ...(half === undefined ? storedNotices(asked, workload) : [halfLeftNotice(half)]),
    ...memoryBeyondNotices(workload),
    ...workloadNotices(workload),
    ...standInNotices(workload, asked),
    ...inPartNotices(workload.facts, asked),
  ];
}

/** Declared shapes or types that are not what the operators make of them: the operators are believed. */
function contradictionNotices({ contradictions }: Facts): NoticeReport[] {
  const [first] = contradictions;
  if (first === undefined) return [];
  const more = contradictions.length > 1 ? ` (and ${contradictions.length - 1} more)` : "";
  const message = `the declared type of "${first.value.name}" is not what its operator makes${more}; the operators are believed`;
  return [{ code: "contradiction", message }];
}

/** What decides the time where Tensor Cores do not. */
function workloadNotices(workload: Workload): NoticeReport[] {
  return [
    ...memoryNotices(workload.timeline),
    ...dataNotices(workload),
    ...maskNotices(workload.products),
    ...typeNotices(workload.products, workload.target),
  ];
}

/** Where most of the time is in them, they decide what a model takes. */
const most = 0.5;

/** Products that wait for their operands: a decoding step reads all of its weights for one row. */
function memoryNotices({ steps, microseconds }: Timeline): NoticeReport[] {
  const waiting = steps.filter(
    ({ product, estimate: { bound } }) => product !== undefined && (bound === "dram" || bound === "l2"),
  );
  const time = waiting.reduce((total, step) => total + step.microseconds, 0);
  if (!(time > most * microseconds)) return [];
  const bytes = waiting.reduce((total, { estimate, runs }) => total + estimate.bytes * runs, 0);
  const share = percentOf(time / microseconds);
  const message = `${share} % of the time is in products that wait for memory, ${compact(bytes)}B a run: weights of fewer bits and more rows at once help them, Tensor Cores do not`;
  return [{ code: "memory-bound", message }];
}

/** What the stack's own plan decides otherwise than sizes that are bound say, and what it leaves out. */
function plannedNotices({ planned }: Timeline): NoticeReport[] {
  if (planned === undefined) return [];
  const { atLargest, open } = planned;
  const many = atLargest.length > 1 ? "are" : "is";
  const sizes = `${atLargest.join(", ")} ${many} of no input, so that data decides: planned at the largest, whatever size is bound`;
  return [
    ...(atLargest.length === 0 ? [] : [{ code: "planned-at-largest", message: sizes }]),
    ...open.map((each) => ({
      code: "planned-in-part",
      message: `${each}: what follows is planned when there is data, and is in no time here`,
    })),
  ];
}

/** Of what depends on data: which of two branches runs, and how much an operator finds. */
function dataNotices(workload: Pick<Workload, "facts" | "timeline">): NoticeReport[] {
  return [...branchNotices(workload), ...loopNotices(workload), ...foundNotices(workload.timeline)];
}

/** What a message about the first of several has at its end. */
function soOf(others: readonly unknown[]): string {
  return others.length === 0 ? "" : `; so of ${others.length} more`;
}

function loopNotices(workload: Pick<Workload, "facts" | "timeline">): NoticeReport[] {
  const [first, ...others] = countedOnce(workload);
  if (first === undefined) return [];
  const message = `"${labelOf(first)}" (${first.opType}) runs its body as often as its inputs say, which the file does not: one run of it is priced${soOf(others)}`;
  return [{ code: "loop", message }];
}

function branchNotices(workload: Pick<Workload, "facts" | "timeline">): NoticeReport[] {
  const [first, ...others] = pricedBranches(workload);
  if (first === undefined) return [];
  const { node, priced } = first;
  const message = `"${labelOf(node)}" runs one of its branches: ${pricedText(priced, workload)}${soOf(others)}`;
  return [{ code: "branch", message }];
}

/** Below this a reader sees 0. */
const asLong = 1e-6;

function pricedText(
  priced: readonly Scope[],
  { timeline: { choices, planned } }: Pick<Workload, "timeline">,
): string {
  const [first, ...more] = priced;
  if (more.length > 0)
    return planned === undefined ? "all that were measured are priced" : "all are computed, and priced";
  const graph = first?.path.split(":").at(-1) ?? "";
  const lead = first && choices?.leads.get(first);
  if (lead === undefined) return `${graph} is priced, which takes more`;
  const how = lead < asLong ? "as long as another" : `${duration(lead)} more`;
  return `${graph} is priced, which takes ${how}: findings save more only where those in both are mended`;
}

function foundNotices({ steps }: Timeline): NoticeReport[] {
  const found = steps.filter(({ work, measured }) => measured === undefined && dependsOnData(work));
  const [first, ...others] = found;
  const node = first?.nodes[0];
  if (first === undefined || node === undefined) return [];
  const { microseconds, low, high } = first.estimate;
  const what = `${labelOf(node)} (${node.opType})`;
  const message = `what it finds decides how long ${what} takes: priced at ${duration(microseconds)}, between ${duration(low)} and ${duration(high)}${soOf(others)}`;
  return [{ code: "data-decides", message }];
}

function dependsOnData(work: Step["work"]): boolean {
  return work.kind === "traffic" && (work.mostOperations ?? work.mostBytes) !== undefined;
}

/** Of one mask for all heads that is stored, and whose elements nobody has read: whether it hides keys ahead decides how many scores are computed. */
function maskNotices(products: readonly CostedProduct[]): NoticeReport[] {
  const masks = products.flatMap(({ sizes, decomposed, scope }) => {
    const mask = sizes.kind === "attention" && !sizes.causal ? decomposed?.mask : undefined;
    const stored = mask && constantBehind(mask, scope);
    const fact = stored && scope.fact(stored);
    if (stored === undefined || fact?.kind !== "tensor" || numbersOf(fact.elements) !== undefined) return [];
    const [rows, ...others] = scope.shape(mask)?.toReversed().slice(1) ?? [];
    return rows !== undefined && rows !== 1 && others.every((dim) => dim === 1) ? [stored] : [];
  });
  const [first, ...others] = new Set(masks);
  if (first === undefined) return [];
  const message = `what "${first.name}" masks is not read: its attention is priced as if no key were hidden, and takes another time where it is causal${soOf(others)}`;
  return [{ code: "mask-unread", message }];
}

/** What `--fix` would gain here and another stack lose. */
export function elsewhereNotices(why: string | undefined): NoticeReport[] {
  return why === undefined ? [] : [{ code: "slower-elsewhere", message: `not fixed by --fix: ${why}` }];
}

/** What the types of products are predicted as, where that is not what they seem. */
function typeNotices(products: readonly CostedProduct[], target: Target): NoticeReport[] {
  return [...float64Notices(products, target), ...quantizedNotices(products, target.precision)];
}

/** Of types that the file stores; the one that is `asked` for has its notice before the model is open. */
function standInNotices({ products, target }: Workload, asked: Target): NoticeReport[] {
  const types = new Set(products.map(({ sizes: { dtype } }) => computeTypeOn(dtype, target)));
  return [...types].flatMap((type) => {
    if (type === asked.precision) return [];
    const message = standInText(target, type);
    return message === undefined ? [] : [{ code: "no-tensor-core-rate", message }];
  });
}

/**
 * A prediction in the types that the file stores where `asked` is a half that no fix brings it to (codes, operators without a form in it, the other half),
 * or INT8, which it is in.
 */
function storedNotices(asked: Target, { target, products, facts }: Workload): NoticeReport[] {
  const { precision } = asked;
  if (precision === "int8" && target.precision !== precision) {
    const message = `its products are of codes already, which ${target.stack.id} multiplies as such: predicted as the file is stored`;
    return [{ code: "quantized-already", message }];
  }
  if (!isHalf(precision) || target.precision === precision) return [];
  if (products.some(({ sizes: { dtype } }) => computeDtype(dtype, "as-is") === precision)) return [];
  if (products.length === 0 && floatsOf(facts).has(precision)) return [];
  const message = `no fix stores the file in ${precision.toUpperCase()}: everything here is predicted in the types that it stores`;
  return [{ code: asStoredNotice, message }];
}

/** With the command whose account has it, and all that pays in it. */
function halfLeftNotice({ precision, microseconds: after, saves, written }: HalfBeside): NoticeReport {
  const [name, verb] = [precision.toUpperCase(), saves.high < 0 ? "costs" : "may cost"];
  const cost = `${duration(-saves.microseconds)} (${savingRange(saves, after + saves.microseconds)})`;
  const withFixes =
    written === undefined ? "" : `; with what --fix makes in ${name}, ${madeInHalf(precision, written)}`;
  // What is sure and written by nobody is so little.
  const isLittle = (written?.low ?? 0) > 0;
  const gains = isLittle ? "gains --min-saving beyond --fix alone" : "is sure to gain";
  const message = `${name} ${verb} ${cost}, and no command ${gains} by it: all else here is of the file as stored${withFixes}; --diff --precision ${precision} tells of ${name}`;
  return { code: asStoredNotice, message };
}

function madeInHalf(precision: HalfBeside["precision"], written: WrittenSaving): string {
  const before = written.after + written.microseconds;
  const times = `from ${duration(before)} to ${duration(written.after)}`;
  return `--fix --precision ${precision} is predicted to take it ${times}${written.low > 0 ? "" : ", not for sure"} (${changeRange(written, before)})`;
}

/** FP64 is computed in FP64 whatever precision is asked for, at a rate that nothing was measured at. */
function float64Notices(products: readonly CostedProduct[], { gpu }: Target): NoticeReport[] {
  const isFloat64 = ({ sizes: { dtype } }: CostedProduct) => computeDtype(dtype, "as-is") === "fp64";
  const count = productsInFile(products.filter(isFloat64));
  if (count === 0) return [];
  const { cuda, tensor } = gpu.float64Tflops;
  const rate = `${tensor ?? cuda} TFLOP/s that the datasheet promises of FP64`;
  const message = `${count} of ${counted(productsInFile(products), "product")} ${count === 1 ? "is" : "are"} in FP64, which no --precision changes and no fix stores otherwise: priced at the ${rate}, and at no less than FP32 takes, without a measurement; export the model in FP32`;
  return [{ code: "float64", message }];
}

/** A file of codes at a prediction that takes its products for floats which somebody is yet to quantize. */
function quantizedNotices(products: readonly CostedProduct[], precision: Precision): NoticeReport[] {
  const count = precision === "int8" ? productsInFile(products.filter(isOfCodes)) : 0;
  if (count === 0) return [];
  const message = `${count} of ${counted(productsInFile(products), "product")} ${count === 1 ? "is" : "are"} quantized already, and predicted as INT8, whatever the stack does with codes; --precision as-is predicts them as they run`;
  return [{ code: "quantized-already", message }];
}
