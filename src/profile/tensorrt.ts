/**
 * @file TensorRT's profile (`trtexec --exportProfile`) and its layers (`--exportLayerInfo`).
 *
 * A layer's name lists what was fused: `/conv1/Conv + /relu/Relu`, `a || b` for what was joined side by side, `PWN(a, b)` for pointwise
 * nodes, `{ForeignNode[a...b]}` for a part that another compiler takes whole. With `--profilingVerbosity=detailed` its metadata
 * lists the nodes one by one.
 */
import { pushAll } from "../ir/lists.ts";
import {
  badProfile,
  type Fields,
  isRecord,
  type Mention,
  type Profile,
  type ProfileFile,
  type ProfileLayer,
  timeIn,
} from "./profile.ts";

/** `[{ "count": 100 }, { "name": …, "timeMs": …, "averageMs": …, "medianMs": … }, …]`. */
export function isTensorRtProfile(value: unknown): boolean {
  return (
    Array.isArray(value) && value.some((each) => isRecord(each) && ("averageMs" in each || "timeMs" in each))
  );
}

/** `{ "Layers": [name or { "Name": …, "Metadata": … }, …] }`. */
export function isLayerInfo(value: unknown): boolean {
  return isRecord(value) && Array.isArray(value["Layers"]);
}

/** Throws InputError. */
export function tensorRtProfile({ path, value }: ProfileFile, info: ProfileFile | undefined): Profile {
  const entries = (Array.isArray(value) ? value : []).filter(isRecord);
  const timed = entries.filter((entry) => typeof entry["name"] === "string");
  const count = entries.map((entry) => entry["count"]).find((each) => each !== undefined);
  const runs = typeof count === "number" && Number.isInteger(count) && count > 0 ? count : 1;
  const statistic = timed.some((entry) => "medianMs" in entry) ? "median" : "mean";
  const described = info === undefined ? undefined : describedLayers(info);
  const layers = timed.map((entry) => layerOf(entry, { path, runs, described }));
  if (
    info !== undefined &&
    described !== undefined &&
    timed.every(({ name }) => !described.has(String(name)))
  )
    throw badProfile(info.path, `describes none of the layers of ${path}: another engine's`);
  // trtexec warms up before it profiles.
  return { tool: "tensorrt", runs, leftOut: 0, statistic, layers };
}

interface Around {
  readonly path: string;
  readonly runs: number;
  /** Nodes by the layer's name; a name that repeats has them all. */
  readonly described: ReadonlyMap<string, readonly string[]> | undefined;
}

function layerOf(entry: Fields, { path, runs, described }: Around): ProfileLayer {
  const name = String(entry["name"]);
  const key = ["medianMs", "averageMs", "timeMs"].find((each) => each in entry) ?? "averageMs";
  const milliseconds = timeIn(entry, key, path) / (key === "timeMs" ? runs : 1);
  const microseconds = milliseconds * 1000;
  // A copy between layouts is TensorRT's own, whatever node it stands before.
  if (name.startsWith(reformat)) return { name, microseconds, mentions: [] };
  const nodes = described?.get(name) ?? [];
  const listed: Mention[] = nodes.map((node) => ({ kind: "name", names: [node] }));
  return { name, microseconds, mentions: listed.length > 0 ? listed : mentionsIn(name) };
}

const reformat = "Reformatting CopyNode";

function describedLayers({ path, value }: ProfileFile): Map<string, string[]> {
  const found = new Map<string, string[]>();
  const layers = isRecord(value) && Array.isArray(value["Layers"]) ? value["Layers"] : [];
  for (const layer of layers) {
    const name = isRecord(layer) ? layer["Name"] : layer;
    if (typeof name !== "string") throw badProfile(path, "a layer has no name");
    const metadata = isRecord(layer) ? layer["Metadata"] : undefined;
    const nodes = typeof metadata === "string" ? nodesOfMetadata(metadata) : [];
    const known = found.get(name);
    if (known === undefined) found.set(name, nodes);
    else pushAll(known, nodes);
  }
  return found;
}

const onnxLayer = "[ONNX Layer: ";

/** `[ONNX Layer: a]\x1f[ONNX Layer: b]`, with a separator or without. */
function nodesOfMetadata(metadata: string): string[] {
  return metadata
    .split(onnxLayer)
    .slice(1)
    .flatMap((part) => {
      const end = part.lastIndexOf("]");
      return end > 0 ? [part.slice(0, end)] : [];
    });
}

/** What a layer's name says that it computes. */
export function mentionsIn(name: string): Mention[] {
  const mentions: Mention[] = [];
  let at = 0;
  for (let start = name.indexOf(foreign); start >= 0; start = name.indexOf(foreign, at)) {
    const end = name.indexOf("]}", start);
    if (end < 0) break;
    pushAll(mentions, plainMentions(name.slice(at, start)));
    mentions.push(foreignMention(name.slice(start + foreign.length, end)));
    at = end + 2;
  }
  pushAll(mentions, plainMentions(name.slice(at)));
  return mentions;
}

/** `a...b`; a constant may stand for the first: `a_output[Constant]...b`. */
function foreignMention(inside: string): Mention {
  const dots = inside.indexOf("...");
  return dots < 0
    ? named(inside)
    : { kind: "range", from: inside.slice(0, dots), to: inside.slice(dots + 3) };
}

function plainMentions(text: string): Mention[] {
  return text.split(separators).flatMap((piece) => {
    const plain = unwrapped(piece.trim());
    return plain === "" || plain === "+" ? [] : [named(plain)];
  });
}

const foreign = "{ForeignNode[";
const separators = / \+ | \|\| |, /;

/** `PWN(PWN(/s/Sigmoid` and `/m/Mul))`, of which brackets are the layer's. */
function unwrapped(piece: string): string {
  let plain = piece;
  while (plain.startsWith("PWN(")) plain = plain.slice(4);
  const surplus = plain.split(")").length - plain.split("(").length;
  const brackets = /\){1,64}$/.exec(plain)?.[0].length ?? 0;
  return plain.slice(0, plain.length - Math.max(0, Math.min(surplus, brackets)));
}

/** Kernels of its second compiler have a number behind the node's name: `/attn/MatMul_1_myl109_5`. */
const kernelNumber = /_myl\d+_\d+$/;

function named(name: string): Mention {
  const plain = name.replace(kernelNumber, "");
  return { kind: "name", names: plain === name ? [name] : [name, plain] };
}
