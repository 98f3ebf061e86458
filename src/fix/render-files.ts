/** @file A repair as the files that it would be, for who has no disk to put them on: nothing is compared, and they say so. */
import { createHash } from "node:crypto";
import { dataName } from "../onnx/data-name.ts";
import type { OpenModel } from "../onnx/read-model.ts";
import { SegmentSource } from "../wire/segments.ts";
import type { Segment } from "../wire/splice.ts";
import { checkNodes, checkWeights, runFix, signedAs } from "./make.ts";
import { type FixOutcome, outcomeOf } from "./outcome.ts";
import type { FixSettings } from "./pipeline.ts";

export interface FixedFile {
  readonly name: string;
  /** They read from the original, which is to stay open. */
  readonly segments: readonly Segment[];
}

export interface RenderedFix {
  readonly outcome: FixOutcome;
  /** The model first; none where nothing is to be changed. */
  readonly files: readonly FixedFile[];
}

const pieceBytes = 1 << 20;
/** What the model's own metadata says, as of `--no-verify`. */
const promise = "unverified";

/**
 * What `--fix --no-verify` writes to a file called `name` in the model's own folder, byte for byte. `summary` is why nothing was
 * compared. Throws InputError.
 */
export function renderFix(
  original: OpenModel,
  settings: FixSettings,
  name: string,
  summary: string,
): RenderedFix {
  checkWeights(original);
  checkNodes(original, settings);
  const fix = { ...runFix(original, settings), left: [], reverted: [], measurement: null };
  const files = fix.fixed.changed ? filesOf(fix.fixed, original, name) : [];
  const [model, ...data] = files;
  const outcome = outcomeOf({ path: original.path, destination: name }, original, fix);
  return {
    outcome: {
      ...outcome,
      written: model !== undefined,
      proof: model === undefined ? null : { kind: "unverified", summary },
      bytes: model === undefined ? original.bytes : sizeOf(model),
      dataFiles: data.map((file) => ({ path: file.name, bytes: sizeOf(file) })),
      unreferenced: [],
    },
    files,
  };
}

function filesOf(fixed: Parameters<typeof signedAs>[0], original: OpenModel, name: string): FixedFile[] {
  const { render } = signedAs(fixed, original, promise);
  const unnamed = dataName(name, "0".repeat(64));
  const { data, model } = render(unnamed);
  if (data === undefined) return [{ name, segments: model }];
  const own = dataName(name, hashOf(data));
  return [
    { name, segments: render(own).model },
    { name: own, segments: data },
  ];
}

function sizeOf({ name, segments }: FixedFile): number {
  return new SegmentSource(name, segments).size;
}

function hashOf(segments: readonly Segment[]): string {
  const source = new SegmentSource("data", segments);
  const hash = createHash("sha256");
  const buffer = new Uint8Array(Math.min(pieceBytes, source.size));
  for (let offset = 0; offset < source.size; offset += buffer.length) {
    const piece = buffer.subarray(0, Math.min(buffer.length, source.size - offset));
    source.readInto(offset, piece);
    hash.update(piece);
  }
  return hash.digest("hex");
}
