/** @file The external data files of one open model: resolved and opened when first read, closed with the model. */
import { type ByteSource, FileSource } from "../wire/source.ts";
import { resolveExternal } from "./external.ts";

export class DataFiles {
  readonly #modelPath: string | undefined;
  /** Data that a patch has made and nobody has written yet, by location. */
  readonly #made: ReadonlyMap<string, ByteSource>;
  readonly #open = new Map<string, ByteSource | undefined>();

  /** `modelPath` is where files are looked for; undefined means nowhere. */
  constructor(modelPath: string | undefined, made: ReadonlyMap<string, ByteSource> = new Map()) {
    this.#modelPath = modelPath;
    this.#made = made;
  }

  get made(): ReadonlyMap<string, ByteSource> {
    return this.#made;
  }

  /** The bytes at a location, or undefined where there is no such file. Throws WireError where it may not be read. */
  at(location: string): ByteSource | undefined {
    const made = this.#made.get(location);
    if (made !== undefined || this.#modelPath === undefined) return made;
    if (!this.#open.has(location)) {
      const found = resolveExternal(this.#modelPath, location);
      this.#open.set(location, found === undefined ? undefined : FileSource.openExactly(found));
    }
    return this.#open.get(location);
  }

  close(): void {
    for (const file of this.#open.values()) file?.close();
    this.#open.clear();
  }
}
