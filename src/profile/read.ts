/** @file Files of `--profile`, each recognised by what it holds, as one profile. */
import { InputError } from "../ir/errors.ts";
import { isOnnxRuntimeProfile, onnxRuntimeProfile } from "./onnx-runtime.ts";
import {
  badProfile,
  emptyProfile,
  type Profile,
  type ProfileFile,
  type ProfileTool,
  toolNames,
  type WantedRun,
} from "./profile.ts";
import { isPyTorchTrace, pyTorchProfile } from "./pytorch.ts";
import { isPlan, isTcLintReport, tcLintProfile } from "./tc-lint.ts";
import { isLayerInfo, isTensorRtProfile, tensorRtProfile } from "./tensorrt.ts";

type Kind = ProfileTool | "layer-info";

/** In the order in which they are asked. */
const kinds: readonly (readonly [kind: Kind, is: (value: unknown) => boolean])[] = [
  ["layer-info", isLayerInfo],
  ["tc-lint", isTcLintReport],
  ["pytorch", isPyTorchTrace],
  ["tensorrt", isTensorRtProfile],
  ["onnxruntime", isOnnxRuntimeProfile],
];

/** `wanted`: which run of a file that holds several. Throws InputError. */
export function profileOf(files: readonly ProfileFile[], wanted: WantedRun): Profile {
  const known = files.map((file) => ({ file, kind: kindOf(file) }));
  const [first, ...more] = known.filter(({ kind }) => kind !== "layer-info");
  const infos = known.filter(({ kind }) => kind === "layer-info");
  const [other] = more;
  if (first === undefined) {
    const paths = files.map(({ path }) => path).join(", ");
    throw emptyProfile(
      paths,
      "TensorRT's layers without times; expected the file of --exportProfile beside it",
    );
  }
  if (other !== undefined || infos.length > 1) {
    const found = known.map(({ file, kind }) => `${file.path} (${describe(kind)})`).join(", ");
    throw new InputError("bad-profile", `--profile: found ${found}; expected one profile of one model`);
  }
  const [info] = infos;
  if (info !== undefined && first.kind !== "tensorrt")
    throw badProfile(info.file.path, `TensorRT's layers, beside a profile of ${describe(first.kind)}`);
  const profile = parsed(first, info?.file, wanted);
  const total = profile.layers.reduce((sum, { microseconds }) => sum + microseconds, 0);
  if (!(total > 0)) throw emptyProfile(first.file.path, `no layer of ${describe(first.kind)} has a time`);
  return profile;
}

function kindOf({ path, value }: ProfileFile): Kind {
  if (Array.isArray(value) && value.length === 0) throw emptyProfile(path, "an empty list");
  const [kind] = kinds.find(([, is]) => is(value)) ?? [];
  if (kind !== undefined) return kind;
  if (isPlan(value))
    throw emptyProfile(
      path,
      "a plan, whose steps nobody timed; expected tc-lint bench -f json without --plan",
    );
  throw new InputError(
    "unknown-profile",
    `${path}: no profile that is known: expected what trtexec --exportProfile, ONNX Runtime's enable_profiling, torch.profiler's export_chrome_trace or tc-lint bench -f json writes`,
  );
}

function describe(kind: Kind): string {
  return kind === "layer-info" ? "TensorRT's layers" : toolNames[kind];
}

function parsed(
  { file, kind }: { readonly file: ProfileFile; readonly kind: Kind },
  info: ProfileFile | undefined,
  wanted: WantedRun,
): Profile {
  if (kind === "tc-lint") return tcLintProfile(file, wanted);
  if (kind === "pytorch") return pyTorchProfile(file);
  return kind === "tensorrt" ? tensorRtProfile(file, info) : onnxRuntimeProfile(file);
}
