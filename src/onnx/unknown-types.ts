/** @file Element types that this reader has no row of: no file that it knows all messages of may have one, and one of a newer IR version may. */
import { newestDtypeCode } from "../ir/dtype.ts";
import { counted } from "../ir/format.ts";
import type { TensorRef, ValueType } from "../ir/model.ts";

export class UnknownTypes {
  /** By what is of them, as messages name it. */
  readonly #codes = new Map<string, number>();

  /** A tensor that is `where`, for one without a name. */
  noteTensor({ name, dtype, dtypeCode }: TensorRef, where = "a tensor"): void {
    if (dtype === undefined) this.#codes.set(name === "" ? where : quoted(name), dtypeCode);
  }

  noteDeclared(name: string, type: ValueType | undefined): void {
    const code = unknownIn(type);
    if (code !== undefined) this.#codes.set(quoted(name), code);
  }

  /** `77, the element type of "x", is none of ONNX's data types (1 to 26)`; undefined where all are known. */
  refusal(): string | undefined {
    return this.#said(`is none of ONNX's data types (1 to ${newestDtypeCode})`);
  }

  /** The same of a file that may be newer than this reader. */
  notice(): string | undefined {
    return this.#said("is no data type that tc-lint knows");
  }

  #said(what: string): string | undefined {
    const [first] = this.#codes;
    if (first === undefined) return undefined;
    const [name, code] = first;
    const others = this.#codes.size - 1;
    const more =
      others > 0 ? `, nor ${others === 1 ? "is that" : "are those"} of ${counted(others, "other")}` : "";
    return `${code}, the element type of ${name}, ${what}${more}`;
  }
}

function quoted(name: string): string {
  return `"${name}"`;
}

function unknownIn(type: ValueType | undefined): number | undefined {
  if (type?.kind === "tensor") return type.unknownCode;
  return type?.kind === "sequence" || type?.kind === "optional" ? unknownIn(type.element) : undefined;
}
