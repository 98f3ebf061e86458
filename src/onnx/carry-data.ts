/**
 * @file A model that is written to another folder takes along the data that it still refers to.
 *
 * Names come from the model, which is untrusted: a copy of `.git/hooks/post-commit` or `.bashrc` would be planted where
 * somebody runs it. So a copy is called by the model's own new name and the hash of its content, whatever it was called. It has what
 * the model still refers to: where a fix wrote most weights anew, the old ones stay behind.
 */
import { bytesOf } from "../ir/dtype.ts";
import { FileSource } from "../wire/file-source.ts";
import { SegmentSource } from "../wire/segments.ts";
import type { Segment } from "../wire/splice.ts";
import { DataFiles } from "./data-files.ts";
import { type ExternalFile, resolveExternal, resolveFromNew } from "./external-file.ts";
import { modelFromSource, type OpenModel } from "./read-model.ts";
import { type DataPlace, externalEntries, relocated } from "./relocate.ts";
import { tensorsOf, weightFiles } from "./weights.ts";

/** Writes segments as a data file beside the new model. Gives its name there. */
export type PlaceData = (segments: readonly Segment[]) => Promise<string>;

/**
 * The bytes of the new model for `destination`, its data copied beside it by `place` where it cannot be read from there. `own` is the data file
 * that was written for it already. Throws InputError.
 */
export async function carryData(
  source: OpenModel,
  segments: readonly Segment[],
  destination: string,
  own: string | undefined,
  place: PlaceData,
): Promise<readonly Segment[]> {
  const model = modelFromSource(new SegmentSource(source.path, segments), new DataFiles(undefined));
  const ranges = rangesIn(model);
  const places = new Map<string, DataPlace>();
  for (const { location } of weightFiles(model)) {
    const original = location === own ? undefined : resolveExternal(source.path, location);
    if (original === undefined || isReached(original, destination, location)) continue;
    const file = FileSource.openExactly(original);
    try {
      const kept = keptOf(ranges.get(location) ?? [], file.size);
      const name = await place(kept.map((range) => ({ kind: "copy", source: file, ...range }) as const));
      places.set(location, { name, moved: (offset) => movedOffset(offset, kept) });
    } finally {
      file.close();
    }
  }
  return relocated(model, places);
}

interface Range {
  readonly offset: number;
  readonly length: number;
}

/** Runtimes map files by pages, of 64 KiB at the most: whatever is left out, tensors keep their places within one. */
const pageBytes = 65536;

/** What says where a tensor is, and nothing else of its file: a checksum is of all of it, prepacked weights lie elsewhere in it. */
const plainKeys: ReadonlySet<string> = new Set(["location", "offset", "length"]);

/** Of each external file, what of it is the model's tensors; without a length where that cannot be told. */
function rangesIn(model: OpenModel) {
  const files = new Map<string, { readonly offset: number; readonly length: number | undefined }[]>();
  for (const { data, dims, dtype, span } of tensorsOf(model)) {
    if (data.kind !== "external") continue;
    const isPlain = [...externalEntries(model.source, span)].every(({ key }) => plainKeys.has(key));
    const elements = dims.reduce((product, size) => product * size, 1);
    const length = data.length ?? (dtype === undefined ? undefined : bytesOf(dtype, elements));
    const range = isPlain ? { offset: data.offset, length } : { offset: 0, length: undefined };
    const before = files.get(data.location);
    if (before === undefined) files.set(data.location, [range]);
    else before.push(range);
  }
  return files;
}

/** What is kept of a file, in order: what lies between tensors is left out page by page. */
function keptOf(
  tensors: readonly { readonly offset: number; readonly length: number | undefined }[],
  fileBytes: number,
): readonly Range[] {
  const kept: { offset: number; length: number }[] = [];
  let end = 0;
  const there = tensors.filter(({ offset }) => offset < fileBytes);
  for (const { offset, length } of there.sort((a, b) => a.offset - b.offset)) {
    const skipped = Math.floor(Math.max(0, offset - end) / pageBytes) * pageBytes;
    const last = kept.at(-1);
    const range = last === undefined || skipped > 0 ? { offset: end + skipped, length: 0 } : last;
    if (range !== last) kept.push(range);
    end = Math.min(fileBytes, Math.max(end, offset + (length ?? fileBytes)));
    range.length = end - range.offset;
  }
  return kept;
}

/** Where the byte at `offset` of the whole file lies among what is kept of it. */
function movedOffset(offset: number, kept: readonly Range[]): number {
  let before = 0;
  for (const range of kept) {
    if (offset < range.offset + range.length) return before + offset - range.offset;
    before += range.length;
  }
  // Of a tensor without elements, which may lie behind all others.
  return before;
}

/** A link of Hugging Face's cache leads from one folder to another: not every neighbour of a model may follow it. */
function isReached({ device, inode }: ExternalFile, destination: string, location: string): boolean {
  const found = resolveFromNew(destination, location);
  return found !== undefined && found.device === device && found.inode === inode;
}
