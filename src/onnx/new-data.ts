/** @file The data file that a patch makes. */
import type { TensorSpec } from "../ir/patch.ts";
import type { Segment } from "../wire/splice.ts";
import { asSource, bytesSegment, type Placement } from "./encode.ts";

/** ONNX Runtime maps data files: tensors start on pages, so that they can be used in place. */
const dataAlignmentBytes = 4096;

export class DataFile {
  readonly segments: Segment[] = [];
  /** Whether it takes tensors that were inside the model as well. */
  readonly takesAll: boolean;
  readonly #location: string;
  #offset = 0;

  constructor(location: string, takesAll = false) {
    this.#location = location;
    this.takesAll = takesAll;
  }

  get isEmpty(): boolean {
    return this.segments.length === 0;
  }

  place(spec: TensorSpec): Placement {
    const gap = (dataAlignmentBytes - (this.#offset % dataAlignmentBytes)) % dataAlignmentBytes;
    if (gap > 0) this.segments.push(bytesSegment(new Uint8Array(gap)));
    const offset = this.#offset + gap;
    const { size } = spec.bytes;
    this.segments.push({ kind: "copy", source: asSource(spec), offset: 0, length: size });
    this.#offset = offset + size;
    return { kind: "external", location: this.#location, offset };
  }
}
