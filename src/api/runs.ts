/** @file Models timed on the GPU, layer by layer, in several configurations; or planned, without a GPU. */
import type { Precision } from "../../cuda-runtime/plan/precision.ts";
import { KernelManifest } from "../../cuda-runtime/session/store.ts";
import { inferFacts } from "../facts/infer.ts";
import { invalidNode } from "../facts/invalid-node.ts";
import { withUnstored } from "../fix/unstored.ts";
import { type BenchedAs, type BenchReport, benchReport, nameOf } from "../gpu/bench-report.ts";
import { checkRunnable } from "../gpu/check-runnable.ts";
import { planSizes } from "../gpu/plan.ts";
import { type PlanReport, planReportOf } from "../gpu/plan-report.ts";
import { prepareModel } from "../gpu/prepare.ts";
import { askGpu, type GpuLimits, kernelsUrl } from "../gpu/process.ts";
import type { ModelRun } from "../gpu/protocol.ts";
import { whyUnsupported } from "../hardware/architectures.ts";
import type { Gpu } from "../hardware/gpu.ts";
import { machineOf } from "../hardware/machine.ts";
import { InputError } from "../ir/errors.ts";
import { plausibleSizes } from "../ir/symbols.ts";
import { Guard } from "../limits/guard.ts";
import { openModel } from "../onnx/open.ts";
import { weightFiles } from "../onnx/weights.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { inputSymbols } from "../verify/sizes.ts";
import { checkFile } from "../workload/emptied.ts";
import type { ConfigChoice } from "./make-plans.ts";
import { safeFixSettings } from "./plan-fix.ts";
import { runtimeFix } from "./runtime-fix.ts";
import { loadTimelines } from "./timelines.ts";

/** What is planned, and what is timed. */
export interface RunChoice {
  /** Undefined: the four configurations when timed (two without repairs); what lint tells of when planned: FP16, unless no fix stores it. */
  readonly precision: Precision | undefined;
  /** Repairs the model in memory first. */
  readonly fix: boolean;
  /** Sizes of symbolic dimensions. */
  readonly dims: Readonly<Record<string, number>>;
  readonly config: ConfigChoice;
}

export interface BenchRequest extends RunChoice {
  /** Runs two models side by side, each as it is. */
  readonly compare: boolean;
  /** Which GPU, as CUDA numbers them. */
  readonly device: number;
  readonly repeats: number | undefined;
  readonly warmup: number | undefined;
  /** Chooses kernels by timing them, for so many seconds a configuration at the most; undefined: by prediction. */
  readonly autotuneSeconds?: number | undefined;
}

/** Whom a run tells what is worth knowing. */
export interface RunListener {
  readonly onNotice: (message: string) => void;
  /** Told the settings that a repair is priced by. */
  readonly onConfiguration?: (plan: LintPlan) => void;
}

interface Configuration {
  readonly name: string;
  readonly precision: Precision;
  readonly fix: boolean;
  /** Whether its steps are timed one by one. */
  readonly steps: boolean;
}

const four: readonly Configuration[] = [
  { name: "FP32", precision: "fp32", fix: false, steps: false },
  { name: "FP16 as exported", precision: "fp16", fix: false, steps: true },
  { name: "FP16 fixed", precision: "fp16", fix: true, steps: true },
  { name: "BF16 fixed", precision: "bf16", fix: true, steps: false },
];

/** Repairs are of models in half precision: the planner pads FP32 itself, and stored types are stored types. */
function isFixed(
  { fix, compare = false }: Pick<BenchRequest, "fix"> & { compare?: boolean },
  own: Precision,
) {
  return fix && !compare && own !== "fp32" && own !== "model";
}

export function configurationsOf(request: BenchRequest): readonly Configuration[] {
  const { precision, compare } = request;
  if (precision === undefined && !compare) return four.filter(({ fix }) => !fix || request.fix);
  const own = precision ?? "fp16";
  const fix = isFixed(request, own);
  const name = nameOf(own.toUpperCase(), fix ? { isFixed: true } : undefined);
  return [{ name, precision: own, fix, steps: true }];
}

/** Throws InputError: no GPU, or a model that does not run. */
export async function benchModels(
  models: readonly string[],
  request: BenchRequest,
  limits: GpuLimits & RunListener,
): Promise<BenchReport> {
  const { device, dims, warmup, repeats, config, autotuneSeconds } = request;
  const runs: ModelRun[] = [];
  const asked: BenchedAs[] = [];
  await checkRunnable(models, device, limits);
  for (const path of models) {
    const plan = await runtimeFix(path, { dims, gpu: undefined, config, onNotice: limits.onNotice });
    const configurations = configurationsOf(request);
    if (plan !== undefined && configurations.some(({ fix }) => fix)) limits.onConfiguration?.(plan);
    for (const { name, precision, fix, steps } of configurations) {
      runs.push({
        label: `${path}, ${name}`,
        model: { path, precision, fix: fix ? plan : undefined },
        inputs: { kind: "drawn", sizes: listed(dims) },
        time: { warmup, repeats },
        steps,
        autotuneSeconds,
      });
      asked.push({ name, model: path, precision, fixed: fix });
    }
  }
  const result = await askGpu({ kind: "run", device, kernels: kernelsUrl, runs }, limits);
  return benchReport(result, asked);
}

export interface PlanLimitsOfUser extends RunListener {
  readonly timeoutSeconds: number | undefined;
  readonly memoryBytes: number | undefined;
}

/** What the runtime would launch for a model on this GPU, and what each launch is predicted to take. Throws InputError. */
export async function planFile(
  path: string,
  gpu: Gpu,
  { precision: asked, fix, dims, config, compare = false }: RunChoice & { readonly compare?: boolean },
  { timeoutSeconds, memoryBytes, onNotice, onConfiguration }: PlanLimitsOfUser,
): Promise<PlanReport> {
  const target = machineOf(gpu);
  const unsupported = whyUnsupported(gpu.name, target.computeCapability);
  if (unsupported !== undefined) throw new InputError("gpu-unsupported", `--gpu ${gpu.id}: ${unsupported}`);
  const manifest = new KernelManifest(new URL(kernelsUrl), target.computeCapability);
  const guard = new Guard({ path, doing: "planning", timeoutSeconds, memoryBytes });
  const { sizes, absent } = guard.run(() => priceSizes(path, dims));
  if (absent !== undefined)
    onNotice(`${path}: "${absent}" is not there: planned by the sizes of its weights alone`);
  await loadTimelines(["tc-runtime"]);
  const isOpen = asked === undefined || isFixed({ fix, compare }, asked);
  const priced = isOpen ? await runtimeFix(path, { dims, gpu: gpu.id, config, onNotice }) : undefined;
  const precision = asked ?? guard.run(() => toldIn(path, priced, onNotice));
  const plan = isFixed({ fix, compare }, precision) ? priced : undefined;
  if (plan !== undefined) onConfiguration?.(plan);
  using prepared = guard.run(() =>
    prepareModel({ path, precision, fix: plan }, { fixSettingsOf: safeFixSettings, isRun: false }),
  );
  const found = guard.run(() =>
    planSizes(prepared.model, sizes, { precision, target }, { memoryBytes: undefined }),
  );
  const stated = nameOf(precision, plan === undefined ? undefined : prepared);
  return planReportOf(found, { model: path, gpu: gpu.id, precision: stated, target, manifest });
}

/** What lint tells of a file in: FP16, or the types that it stores where no fix brings it to that. */
function toldIn(path: string, plan: LintPlan | undefined, onNotice: RunListener["onNotice"]): Precision {
  if (plan === undefined) return "fp16";
  using model = openModel(path);
  // The cost model's prices do: what is stored is no matter of time.
  const { unstored } = withUnstored(model, { ...safeFixSettings(plan), timelineOf: undefined });
  if (unstored === undefined) return "fp16";
  const name = unstored.toUpperCase();
  onNotice(
    `${path}: no fix stores it in ${name}: planned in the types that it stores, as lint tells of it; --precision ${unstored} plans it in ${name}`,
  );
  return "model";
}

export interface PriceSizes {
  /** What linting prices the model at. */
  readonly sizes: Record<string, readonly number[]>;
  /** A file of weights that is missing. */
  readonly absent: string | undefined;
}

/** Throws InputError of a model that linting calls broken, be it in a part that a plan leaves out, or empty. */
export function priceSizes(path: string, dims: RunChoice["dims"]): PriceSizes {
  using model = openModel(path);
  const facts = inferFacts(model, { dims: new Map(Object.entries(dims)) });
  checkFile(facts);
  const broken = invalidNode(facts);
  if (broken !== null) throw new InputError(broken.code, broken.message);
  const onInputs = inputSymbols(model);
  const known = [...facts.bindings].filter(([symbol]) => onInputs.includes(symbol));
  // Of other symbols data decides.
  const free = onInputs.filter((symbol) => facts.symbols.has(symbol));
  const plausible = plausibleSizes(model, free, new Map(known));
  const sizes = listed({ ...Object.fromEntries([...plausible, ...known]), ...dims });
  return { sizes, absent: weightFiles(model).find(({ present }) => !present)?.location };
}

export function listed(dims: Readonly<Record<string, number>>): Record<string, readonly number[]> {
  return Object.fromEntries(Object.entries(dims).map(([name, size]) => [name, [size]]));
}
