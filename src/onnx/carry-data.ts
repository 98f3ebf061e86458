/**
 * @file A model that is written to another folder takes along the data that it still refers to.
 *
 * Names come from the model, which is untrusted: a copy of `.git/hooks/post-commit` or `.bashrc` would be planted where
 * somebody runs it. So a copy is called by the model's own new name and the hash of its content, whatever it was called.
 */
import { FileSource } from "../wire/file-source.ts";
import { SegmentSource } from "../wire/segments.ts";
import type { Segment } from "../wire/splice.ts";
import { DataFiles } from "./data-files.ts";
import { type ExternalFile, resolveExternal, resolveFromNew } from "./external-file.ts";
import { modelFromSource, type OpenModel } from "./read-model.ts";
import { relocated } from "./relocate.ts";
import { weightFiles } from "./weights.ts";

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
  const names = new Map<string, string>();
  for (const { location } of weightFiles(model)) {
    const original = location === own ? undefined : resolveExternal(source.path, location);
    if (original === undefined || isReached(original, destination, location)) continue;
    const file = FileSource.openExactly(original);
    try {
      const whole = { kind: "copy", source: file, offset: 0, length: file.size } as const;
      names.set(location, await place([whole]));
    } finally {
      file.close();
    }
  }
  return relocated(model, names);
}

/** A link of Hugging Face's cache leads from one folder to another: not every neighbour of a model may follow it. */
function isReached({ device, inode }: ExternalFile, destination: string, location: string): boolean {
  const found = resolveFromNew(destination, location);
  return found !== undefined && found.device === device && found.inode === inode;
}
