/** @file A chain's parameters: each field is written and read at the same place. */
import { type ParamBlock, ParamWriter } from "../ir/params.ts";
import type { View } from "../ir/view.ts";
import type { Assembler, Operand } from "./assembler.ts";

/** Pointers first, so that nothing is padded. */
export class ChainFields {
  readonly #assembler: Assembler;
  readonly #writer = new ParamWriter();
  #end = 0;

  constructor(assembler: Assembler) {
    this.#assembler = assembler;
  }

  pointer(view: View): Operand {
    const at = this.#reserve(8);
    this.#writer.pointer(view);
    const generic = this.#assembler.op("q", "ld.param.u64", `[p+${at}]`);
    return this.#assembler.op("q", "cvta.to.global.u64", generic);
  }

  /** A number of 32 bits, signed or not. */
  word(value: number): Operand {
    const at = this.#reserve(4);
    if (!(value >= -(2 ** 31) && value < 2 ** 32))
      throw new RangeError(`tc-lint bug: ${value} takes more than 32 bits`);
    this.#writer.i32(value | 0);
    return this.#assembler.op("r", "ld.param.u32", `[p+${at}]`);
  }

  done(): ParamBlock {
    return this.#writer.done();
  }

  #reserve(size: number): number {
    const at = Math.ceil(this.#end / size) * size;
    this.#end = at + size;
    return at;
  }
}

/** n / divisor as (n multiplier) >> shift, for 0 ≤ n < 2^31. */
export function divisionBy(divisor: number): { multiplier: number; shift: number } {
  const bits = Math.ceil(Math.log2(divisor));
  // The rounding up adds less than n / 2^31 / divisor to the quotient: too little to reach the next whole number.
  const multiplier = Number((2n ** BigInt(31 + bits) + BigInt(divisor) - 1n) / BigInt(divisor));
  return { multiplier, shift: 31 + bits };
}
