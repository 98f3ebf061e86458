/** @file `fix` for programs: one model repaired, compared with the original, and put in place. */
import type { Tensors } from "../verify/tensor.ts";
import { entryOf, type FixEntry } from "./fix-report.ts";
import type { FixChoice } from "./fix-settings.ts";
import {
  type CallOptions,
  checkOptions,
  checkPath,
  listening,
  type ModelOptions,
  modelSchemas,
  type OptionSchemas,
  type PluginOptions,
  planOf,
  schemas,
} from "./options.ts";
import { rulesWith } from "./plugins.ts";

/**
 * Without more said, padding and folding alone. A half type or `nhwc` that is asked for is taken wherever it can be; with
 * `halfOnlyWhereFaster`, `nhwcOnlyWhereFaster`, only where it is predicted to save time.
 */
export interface FixOptions extends ModelOptions, PluginOptions, CallOptions, Partial<FixChoice> {
  /** Where the result goes. Without it the model itself is replaced, in one step, once the result has been compared. */
  readonly output?: string;
  /** Says what would change, and writes nothing. */
  readonly dryRun?: boolean;
  /** False puts the result in place without a comparison. */
  readonly verify?: boolean;
  /** Measures every change on this GPU, as CUDA numbers them, and keeps those that gain. */
  readonly proveOn?: number;
  /** With a half type: sample inputs that value ranges are observed on, by input name. */
  readonly samples?: readonly Tensors[];
}

type Own = Omit<FixOptions, keyof ModelOptions | keyof CallOptions>;

const ownSchemas: OptionSchemas<Own> = {
  plugins: { type: "array" },
  output: schemas.path,
  dryRun: schemas.flag,
  verify: schemas.flag,
  proveOn: schemas.count,
  samples: { type: "array", items: schemas.inputs },
  half: schemas.half,
  halfOnlyWhereFaster: schemas.flag,
  halfIo: schemas.flag,
  nhwc: schemas.flag,
  nhwcOnlyWhereFaster: schemas.flag,
  nhwcIo: schemas.flag,
  nhwcForm: { type: "string", enum: ["portable", "ort-cuda"] },
  batch: { anyOf: [schemas.positive, { type: "string", enum: ["dynamic"] }] },
};

/**
 * Repairs a model as `tc-lint --fix` does: predicted microseconds before and after, what changed, and what was proven.
 *
 * @param path The model; it is read, and is replaced only where no `output` is named.
 * @returns What was done; `written` is false where nothing had to be.
 * @throws InputError Where the model cannot be read or repaired, where the result is not the same function (`not-the-same`),
 * where there is no ONNX Runtime to compare with (`onnxruntime-missing`), and where a limit was met (`timeout`, `out-of-memory`).
 */
export async function fix(path: string, options: FixOptions = {}): Promise<FixEntry> {
  checkPath(path);
  checkOptions(options, { ...modelSchemas(), ...ownSchemas });
  const {
    output,
    dryRun = false,
    verify = true,
    proveOn,
    samples,
    half,
    halfOnlyWhereFaster = false,
    halfIo = false,
    nhwc = false,
    nhwcOnlyWhereFaster = false,
    nhwcIo = false,
    nhwcForm = "portable",
    batch,
    timeoutSeconds,
    memoryBytes,
    onProgress,
    onNotice,
    plugins = [],
    ...config
  } = options;
  const plan = planOf(path, config, await rulesWith(plugins));
  const { Guard } = await import("../limits/guard.ts");
  const { repair } = await import("./repair.ts");
  const choice = { half, halfOnlyWhereFaster, halfIo, nhwc, nhwcOnlyWhereFaster, nhwcIo, nhwcForm, batch };
  const guard = new Guard({ path, doing: "fixing", timeoutSeconds, memoryBytes });
  const given = () => (samples === undefined ? undefined : { name: "given", sets: samples });
  const { outcome, ranges } = await listening({ onProgress, onNotice }, (listeners) =>
    repair(
      plan,
      { ...choice, output, dryRun, verify, proveOn, samples: given },
      { guard, memoryBytes, onProgress: listeners.onProgress },
    ),
  );
  return entryOf(outcome, ranges, plan.settings.configFiles);
}
