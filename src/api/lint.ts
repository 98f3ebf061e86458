/** @file `lint` for programs: one model in, its report out. */
import type { onnx } from "onnx-proto";
import type { Calibration } from "../cost/calibration.ts";
import { InputError } from "../ir/errors.ts";
import type { ModelReport } from "../lint/result.ts";
import { missingWeights } from "../onnx/missing-weights.ts";
import { modelFromBytes, type OpenModel, openModel } from "../onnx/open.ts";
import { checkConfig } from "../settings/check.ts";
import { decidedReport } from "./decided-fix.ts";
import { type ModelOptions, type PluginOptions, planOf, schemas } from "./options.ts";
import { rulesWith } from "./plugins.ts";
import { withProfile } from "./profile.ts";
import { loadTimelines, settingsOf, stacksOf, withTimelines } from "./timelines.ts";

/**
 * A ModelProto of onnx-proto, decoded or built by hand: `onnx.IModelProto`. These are the names of its fields; their types are
 * onnx-proto's, which need not be there for whoever lints files.
 */
export interface ModelProto {
  readonly irVersion?: unknown;
  readonly opsetImport?: readonly object[] | null;
  readonly producerName?: string | null;
  readonly producerVersion?: string | null;
  readonly domain?: string | null;
  readonly modelVersion?: unknown;
  readonly docString?: string | null;
  readonly graph?: object | null;
  readonly metadataProps?: readonly object[] | null;
  readonly trainingInfo?: readonly object[] | null;
  readonly functions?: readonly object[] | null;
}

/** What a configuration file may say of one model, and what only a caller can. */
export interface LintOptions extends ModelOptions, PluginOptions {
  /** How reports name a model that is held in memory. Default `model.onnx`. */
  readonly name?: string;
  /** Whether the report lists every layer. */
  readonly layers?: boolean;
  /** Whether it has what pages draw: the graph around findings, and what the target could reach. */
  readonly drawings?: boolean;
  /** Whether it lists all findings, also those that save too little, or perhaps nothing. */
  readonly verbose?: boolean;
  /** Files of one profile of it, whose times stand for predictions: as `--profile` takes them. */
  readonly profile?: readonly string[];
  /** Coefficients of a machine that someone measured. */
  readonly calibration?: Calibration;
}

/**
 * Lints a model: a path, the bytes of a file, or an onnx-proto ModelProto. Configuration files are not looked for.
 *
 * Throws InputError where the input cannot be read or an option is wrong. A model that contradicts itself has its
 * report's `error` set. The work is synchronous, and has none of the command line's limits of time and memory: call it in a worker
 * thread, with `resourceLimits` and a deadline, for models that may be anybody's.
 */
export async function lint(
  input: string | Uint8Array | ModelProto,
  options: LintOptions = {},
): Promise<ModelReport> {
  const {
    name,
    layers = false,
    drawings = false,
    verbose = false,
    calibration,
    plugins = [],
    profile = [],
    ...config
  } = options;
  checkConfig(options, { type: "object" }, "options");
  checkConfig(profile, { type: "array", items: schemas.path }, "profile");
  const path = name ?? (typeof input === "string" ? input : "model.onnx");
  const rules = await rulesWith(plugins);
  const plan = planOf(path, config, rules, profile);
  const { settings, mustHave } = plan;
  using model = await openInput(input, path);
  const notices = typeof input === "string" ? [...model.notices, ...missingWeights(model)] : model.notices;
  const request = { settings, rules, calibration, path, layers, drawings, verbose, mustHave, notices };
  await loadTimelines(stacksOf(settings));
  return await withTimelines(() =>
    decidedReport(model, withProfile(model, settingsOf(model, request), plan)),
  );
}

/** A model wherever it is. Throws InputError. */
export async function openInput(input: string | Uint8Array | ModelProto, name: string): Promise<OpenModel> {
  if (typeof input === "string") return openModel(input);
  if (input instanceof Uint8Array) return modelFromBytes(input, name);
  if (typeof input !== "object" || input === null || !("graph" in input)) {
    throw new InputError(
      "not-onnx",
      `${name}: expected a path, the bytes of a model, or a ModelProto of onnx-proto`,
    );
  }
  return modelFromBytes(await encode(input), name);
}

/** Its bytes. */
export async function encode(model: ModelProto): Promise<Uint8Array> {
  // A lot of generated code, for those who hold a ModelProto.
  const proto = await import("onnx-proto");
  return proto.default.onnx.ModelProto.encode(model as onnx.IModelProto).finish();
}
