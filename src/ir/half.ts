/** @file Half-width floats: what people call them, and numbers to their bits, rounded to nearest, ties to even. */

export const halfName = { float16: "FP16", bfloat16: "BF16" } as const;

const scratch = new DataView(new ArrayBuffer(4));

/** IEEE 754 binary16 bits of a number, rounded to nearest even; beyond the range, infinity. */
export function halfBits(value: number): number {
  scratch.setFloat32(0, value);
  return halfBitsOfFloat(scratch.getUint32(0));
}

/** The same from the bits of a binary32. */
export function halfBitsOfFloat(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fff_ffff;
  // Nearly every weight is normal in both. A carry out of the fraction is the next exponent, up to infinity.
  if (magnitude >= 0x3880_0000 && magnitude < 0x4780_0000)
    return sign | ((magnitude - 0x3800_0000 + 0x0fff + ((magnitude >>> 13) & 1)) >>> 13);
  if (magnitude > 0x7f80_0000) return sign | 0x7e00;
  if (magnitude >= 0x4780_0000) return sign | 0x7c00;
  if (magnitude < 0x3300_0000) return sign;
  const shift = 126 - (magnitude >>> 23);
  const fraction = (magnitude & 0x007f_ffff) | 0x0080_0000;
  const kept = fraction >>> shift;
  const dropped = fraction & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  const up = dropped > half || (dropped === half && (kept & 1) === 1) ? 1 : 0;
  return sign | (kept + up);
}

/** bfloat16 bits of a number, rounded to nearest even. */
export function bfloatBits(value: number): number {
  scratch.setFloat32(0, value);
  return bfloatBitsOfFloat(scratch.getUint32(0));
}

export function bfloatBitsOfFloat(bits: number): number {
  if ((bits & 0x7fff_ffff) > 0x7f80_0000) return (bits >>> 16) | 0x0040;
  return ((bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16) & 0xffff;
}
