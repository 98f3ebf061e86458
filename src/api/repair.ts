/** @file One model repaired by its plan: fixed, compared with the original, and put in place. */
import { readCalibration } from "../files/read-calibration.ts";
import { type FixOutcome, fixModel, type Proof, type Prove, type Verify } from "../fix/fix.ts";
import { proveHalf } from "../fix/half-proof.ts";
import { type ObservedRanges, rangesFor, type Samples } from "../fix/observed-ranges.ts";
import { promisedProof, proveSame } from "../fix/proof.ts";
import { InputError } from "../ir/errors.ts";
import type { Guard } from "../limits/guard.ts";
import { checkLoadable } from "../onnx/loadable.ts";
import type { LintPlan } from "../settings/lint-plan.ts";
import { verifyChildUrl } from "../verify/child-url.ts";
import { type FixChoice, proposing, withRanges } from "./fix-settings.ts";
import { repairAsGiven } from "./given-commands.ts";
import { idleCalibration } from "./idle-calibration.ts";
import { fixSettings } from "./plan-fix.ts";
import { prepare } from "./prepare.ts";
import { withTimelines } from "./timelines.ts";

export interface RepairOptions extends FixChoice {
  /** Where the result goes; undefined repairs in place. */
  readonly output: string | undefined;
  /** Only says what would change. */
  readonly dryRun: boolean;
  /** Compares the result with the original before it is put in place. */
  readonly verify: boolean;
  /** Keeps what is measured to gain on this GPU, as CUDA numbers them; undefined keeps what is predicted to. */
  readonly proveOn: number | undefined;
  /** With half precision: inputs to see ranges of values on. Asked for when the model has been read. */
  readonly samples: () => Samples | undefined;
}

export interface RepairLimits {
  /** Of the synchronous work, and of child processes where the user set a time. */
  readonly guard: Pick<Guard, "run" | "timeoutSeconds">;
  /** Of child processes. */
  readonly memoryBytes: number | undefined;
  readonly onProgress: (what: string) => void;
}

export interface Repaired {
  readonly outcome: FixOutcome;
  /** What half precision knew of the sizes of values; undefined without it. */
  readonly ranges: string | undefined;
}

/** Throws InputError where the model cannot be repaired: then it is as it was. */
export async function repair(
  plan: LintPlan,
  options: RepairOptions,
  limits: RepairLimits,
): Promise<Repaired> {
  const { path } = plan;
  if (options.proveOn !== undefined && options.batch !== undefined)
    throw new InputError(
      "usage",
      `${path}: --prove measures a model beside its original, which takes another batch; give it its batch (--batch) first`,
    );
  const { guard } = limits;
  await prepare(plan);
  const within = <T>(work: () => T): T => guard.run(work);
  const settings = within(() => fixSettings(plan, options));
  // It can be neither run nor compared, which takes as long as reading it.
  if (!options.dryRun) checkLoadable(path, "repaired");
  const sizes = Object.fromEntries(Object.entries(plan.settings.dims).map(([name, size]) => [name, [size]]));
  const child = {
    childUrl: verifyChildUrl,
    sizes,
    onProgress: (what: string) => limits.onProgress(`comparing ${what}`),
  };
  let seen: ObservedRanges | undefined;
  const samples = options.half === undefined ? undefined : options.samples();
  if (options.half !== undefined) {
    const { timeoutSeconds } = guard;
    const mayDraw = options.verify;
    seen = await rangesFor({ path, settings, samples, mayDraw, within, timeoutSeconds, ...child });
  }
  const known = withRanges(settings, seen?.ranges);
  const verify: Verify = (original, candidate, { isHalved, ...staged }) => {
    const request = {
      path,
      original,
      candidate,
      ...staged,
      half: isHalved ? options.half : undefined,
      samples: samples?.sets,
      ...child,
      timeoutSeconds: guard.timeoutSeconds,
      memoryBytes: limits.memoryBytes,
    };
    return request.half === undefined ? proveSame(request) : proveHalf(request, settings.options.halfType);
  };
  const prove = await proverFor(plan, options, seen?.ranges, limits);
  // Whether another account is needed is known before anything is staged.
  const outcome = await withTimelines(() =>
    fixModel({
      path,
      destination: options.output ?? path,
      settings: options.proveOn === undefined ? known : proposing(known),
      prove,
      dryRun: options.dryRun,
      promise: options.verify ? promisedProof() : "unverified",
      verify: options.verify ? verify : unverified,
      within,
    }),
  );
  const bound = [...(known.shapes?.keys() ?? []), ...(known.dims?.keys() ?? [])];
  const idle = idleCalibration(readCalibration(plan.settings.calibration), settings);
  const used = { bound, ...idle, batch: options.batch };
  return { outcome: repairAsGiven(plan, used, outcome), ranges: seen?.from };
}

/** Loaded where it is asked for: planning for a GPU is a lot of code. */
async function proverFor(
  plan: LintPlan,
  options: RepairOptions,
  ranges: ObservedRanges["ranges"] | undefined,
  { guard: { timeoutSeconds }, memoryBytes, onProgress }: RepairLimits,
): Promise<Prove | undefined> {
  if (options.proveOn === undefined) return undefined;
  const { proverOf } = await import("./prove.ts");
  const request = { plan, device: options.proveOn, choice: options, ranges };
  return proverOf(request, { timeoutSeconds, memoryBytes, onProgress });
}

function unverified(): Promise<Proof> {
  return Promise.resolve({ kind: "unverified", summary: "--no-verify" });
}
