/** @file A file that the reader gave, read by ranges. */
import { WireError } from "../../wire/error.ts";
import { type ByteSource, truncated } from "../../wire/source.ts";

/** Of workers alone; the types of pages lack it. */
declare class FileReaderSync {
  /** Throws a DOMException where the file is gone, or is not what it was. */
  readAsArrayBuffer(blob: Blob): ArrayBuffer;
}

export class BlobSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly blob: Blob;
  readonly #reader = new FileReaderSync();

  constructor(file: File) {
    this.name = file.name;
    this.size = file.size;
    this.blob = file;
  }

  readInto(offset: number, target: Uint8Array): void {
    const end = offset + target.length;
    if (offset < 0 || end > this.size) throw truncated(this, offset, target.length);
    target.set(this.#read(this.blob.slice(offset, end)));
  }

  close(): void {}

  #read(range: Blob): Uint8Array {
    try {
      return new Uint8Array(this.#reader.readAsArrayBuffer(range));
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      const what = "cannot be read: it was changed or removed since it was chosen, or access is denied";
      throw new WireError("unreadable", `${this.name}: ${what} (${error.name})`, { cause: error });
    }
  }
}
