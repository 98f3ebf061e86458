/** @file The range of constants, read window by window. */

import { constantFact } from "../../facts/constant.ts";
import type { Scope } from "../../facts/scope.ts";
import { storedTensor } from "../../facts/stored.ts";
import { hasAttribute, tensorAttributeOf } from "../../ir/attributes.ts";
import { InputError } from "../../ir/errors.ts";
import { finiteRange } from "../../ir/lists.ts";
import type { TensorRef, Value } from "../../ir/model.ts";
import type { OpenTensor } from "../../ir/patch.ts";
import { isFilled } from "../../ops/ask.ts";
import type { FloatValue } from "./graph.ts";
import { LaneCount, laneAxisOf } from "./lanes-lost.ts";

export interface Magnitude {
  /** Largest |x| among the finite elements; 0 where there are none. */
  readonly largest: number;
  /** The most negative and the most positive finite element. */
  readonly lowest: number;
  readonly highest: number;
  /** Of a weight: how many of its output lanes float16 does not hold, each by itself. */
  readonly vanishing: number;
}

const windowElements = 1 << 18;

export class Magnitudes {
  readonly #open: OpenTensor;
  readonly #known = new Map<Value, Magnitude | undefined>();
  /** For all tensors: where one is not to be read, that is known once something is read. */
  #window: Float32Array<ArrayBuffer> | undefined;

  constructor(open: OpenTensor) {
    this.#open = open;
  }

  /** Of a stored value, or of what ConstantOfShape fills with; undefined for anything else, and where the elements are not there. */
  of(value: FloatValue): Magnitude | undefined {
    const known = this.#known.get(value.value);
    if (known !== undefined || this.#known.has(value.value)) return known;
    const magnitude = this.#measure(value);
    this.#known.set(value.value, magnitude);
    return magnitude;
  }

  #measure(entry: FloatValue): Magnitude | undefined {
    const { value, scope, isStored } = entry;
    const numbers = isStored ? plainNumbers(value) : fillOf(value, scope);
    if (numbers !== undefined) return magnitudeOf(numbers);
    const tensor = isStored ? storedTensor(value) : undefined;
    return tensor === undefined || tensor.dims.includes(0) ? undefined : this.#scan(tensor, entry);
  }

  #scan(tensor: TensorRef, entry: FloatValue): Magnitude | undefined {
    const axis = laneAxisOf(entry, tensor.dims.length);
    const lanes = axis === undefined ? undefined : new LaneCount(tensor.dims, axis);
    try {
      const bytes = this.#open(tensor);
      let [lowest, highest] = [0, 0];
      for (let offset = 0; offset < bytes.size; offset += windowElements * 4) {
        this.#window ??= new Float32Array(windowElements);
        const elements = this.#window.subarray(0, (bytes.size - offset) / 4);
        bytes.readInto(offset, new Uint8Array(elements.buffer, 0, elements.byteLength));
        lanes?.add(elements);
        const range = finiteRange(elements);
        lowest = Math.min(lowest, range.lowest);
        highest = Math.max(highest, range.highest);
      }
      const largest = Math.max(-lowest, highest);
      return { lowest, highest, largest, vanishing: lanes?.vanishing(largest) ?? 0 };
    } catch (error) {
      // A skeleton can be converted as well: what is not there is taken to be in range.
      if (error instanceof InputError && error.code === "weights-missing") return undefined;
      throw error;
    }
  }
}

function magnitudeOf(numbers: readonly number[]): Magnitude {
  const { lowest, highest } = finiteRange(numbers);
  return { lowest, highest, largest: Math.max(-lowest, highest), vanishing: 0 };
}

/** Of a Constant node without a tensor. */
export function plainNumbers({ producer }: Value): readonly number[] | undefined {
  for (const { name, value } of producer?.attributes ?? []) {
    if (name === "value_float" && value.type === "float") return [value.value];
    if (name === "value_floats" && value.type === "floats") return value.values;
  }
  return undefined;
}

/** The one element of a ConstantOfShape. */
export function fillOf({ producer }: Value, scope: Scope): readonly number[] | undefined {
  if (producer === undefined || !isFilled(producer)) return undefined;
  if (!hasAttribute(producer, "value")) return [0];
  const tensor = tensorAttributeOf(producer, "value");
  const elements = tensor && constantFact(tensor, scope.model.reader).elements;
  return elements?.every((element) => typeof element === "number") ? elements : undefined;
}
