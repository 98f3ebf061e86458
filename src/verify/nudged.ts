/** @file Inputs that differ in the last bit: what a model makes of that, it makes of rounding. */
import type { Tensor, Tensors } from "./tensor.ts";
import { numbersOf } from "./tensor.ts";

export function nudged(inputs: Tensors): Tensors {
  return new Map([...inputs].map(([name, tensor]) => [name, nudgedTensor(tensor)]));
}

/** Every number moved by its last bit, up and down in turn; the largest ones down, as there is nothing above. */
function nudgedTensor(tensor: Tensor): Tensor {
  const { dtype, dims } = tensor;
  if (dtype !== "float32") return tensor;
  const step = 2 ** -23;
  const numbers = Float32Array.from(
    numbersOf(tensor),
    (value, i) => value * (1 + (i % 2 === 0 && Math.abs(value) < 3e38 ? step : -step)),
  );
  return { dtype, dims, data: numbers };
}
