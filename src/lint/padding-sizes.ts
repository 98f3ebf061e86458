/** @file Sizes that an axis may be padded to. */

/** Below the multiple of the format: half and quarter vectors. */
const partialSteps = [2, 4];
/** Several vectors: whole tiles of a kernel. */
const wholeSteps = [1, 2, 4, 8];
/** Beyond this a wider layer is another network. */
const widestGrowth = 1.5;

/**
 * Whether an axis has a width to round up. One of a single element has none: it is the one number that a model gives or a gate lets through, a
 * product with it is one of a matrix and a vector, which runs other kernels (one output of 64 channels takes 9.4 µs, eight 10.9), no fix pads
 * it, and who had eight would have to cut them to the one.
 */
export function isOff(size: number, multiple: number): boolean {
  return size > 1 && size % multiple !== 0;
}

export function alignUp(size: number, multiple: number): number {
  return Math.ceil(size / multiple) * multiple;
}

/**
 * Sizes above `size`, ascending: multiples of `multiple`, and for a size below it even ones too. Always holds the next
 * multiple, unless `size` is one.
 */
export function paddedSizes(size: number, multiple: number): number[] {
  const aligned = alignUp(size, multiple);
  const limit = Math.max(aligned, size * widestGrowth);
  const partial = size < multiple ? partialSteps : [];
  const steps = [...partial, ...wholeSteps.map((step) => step * multiple)];
  const sizes = steps.map((step) => alignUp(size, step));
  return [...new Set(sizes)].filter((each) => each > size && each <= limit).sort((a, b) => a - b);
}
