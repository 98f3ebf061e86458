/** @file The external data files of one open model: found and opened when first read, closed with the model. */
import type { ByteSource } from "../wire/source.ts";

/** Where a model's external data is looked for: a folder of the disk, or files that somebody gave. */
export interface DataFolder {
  /** Undefined where there is no such file. Throws WireError where it may not be read. */
  find(location: string): FoundData | undefined;
}

export interface FoundData {
  readonly bytes: number;
  open(): ByteSource;
}

/** May put itself between a file and its readers. */
export type ReadData = (location: string, file: ByteSource) => ByteSource;

export class DataFiles {
  readonly #folder: DataFolder | undefined;
  /** Data that a patch has made and nobody has written yet, by location. */
  readonly #made: ReadonlyMap<string, ByteSource>;
  readonly #read: ReadData;
  readonly #open = new Map<string, ByteSource | undefined>();

  /** Without a folder there is no data but what is made. */
  constructor(
    folder: DataFolder | undefined,
    made: ReadonlyMap<string, ByteSource> = new Map(),
    read: ReadData = (_, file) => file,
  ) {
    this.#folder = folder;
    this.#made = made;
    this.#read = read;
  }

  get made(): ReadonlyMap<string, ByteSource> {
    return this.#made;
  }

  /** The files of the same folder, for a model that a patch has made. */
  with(made: ReadonlyMap<string, ByteSource>): DataFiles {
    return new DataFiles(this.#folder, made);
  }

  /** What lies in the folder, unopened. Throws as `DataFolder.find` does. */
  find(location: string): FoundData | undefined {
    return this.#folder?.find(location);
  }

  /** The bytes at a location, or undefined where there is no such file. Throws WireError where it may not be read. */
  at(location: string): ByteSource | undefined {
    const made = this.#made.get(location);
    if (made !== undefined) return made;
    if (!this.#open.has(location)) {
      const found = this.find(location)?.open();
      this.#open.set(location, found && this.#read(location, found));
    }
    return this.#open.get(location);
  }

  close(): void {
    for (const file of this.#open.values()) file?.close();
    this.#open.clear();
  }
}
