/** @file The external data files of one open model: resolved and opened when first read, closed with the model. */
import { type ByteSource, FileSource } from "../wire/source.ts";
import { resolveExternal } from "./external.ts";

/** May put itself between a file and its readers. */
export type ReadData = (location: string, file: ByteSource) => ByteSource;

export class DataFiles {
  readonly #modelPath: string | undefined;
  /** Data that a patch has made and nobody has written yet, by location. */
  readonly #made: ReadonlyMap<string, ByteSource>;
  readonly #read: ReadData;
  readonly #open = new Map<string, ByteSource | undefined>();

  /** `modelPath` is where files are looked for; undefined means nowhere. */
  constructor(
    modelPath: string | undefined,
    made: ReadonlyMap<string, ByteSource> = new Map(),
    read: ReadData = (_, file) => file,
  ) {
    this.#modelPath = modelPath;
    this.#made = made;
    this.#read = read;
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
      this.#open.set(
        location,
        found === undefined ? undefined : this.#read(location, FileSource.openExactly(found)),
      );
    }
    return this.#open.get(location);
  }

  close(): void {
    for (const file of this.#open.values()) file?.close();
    this.#open.clear();
  }
}
