/** @file Operators that the host computes: their results are as large as what they find. */
import type { StorageType } from "../ir/storage.ts";

/** A tensor in the host's memory: row-major; 64-bit integers as the nearest doubles. */
export interface HostTensor {
  readonly type: StorageType;
  readonly shape: readonly number[];
  readonly values: ArrayLike<number>;
}

export interface HostAttributes {
  int(name: string): number | undefined;
}

/** By position; an input that is left out is undefined. */
export type HostInputs = readonly (HostTensor | undefined)[];

/** What is known of an input before it is computed. */
export interface HostInputFact {
  readonly shape: readonly number[];
  /** Where they are known. */
  readonly elements: readonly number[] | undefined;
}

export interface HostOperator {
  /** All outputs, in order. Throws HostError for inputs that contradict the operator. */
  readonly run: (inputs: HostInputs, attributes: HostAttributes) => readonly HostTensor[];
  /** The largest shapes that the outputs may have: for plans that are made without data. */
  readonly largest: (
    inputs: readonly (HostInputFact | undefined)[],
    attributes: HostAttributes,
  ) => readonly (readonly number[])[];
  /** About how long the host takes for an element of the inputs. */
  readonly nanosecondsPerElement: number;
}

/** The inputs contradict the operator: the message says what was found and what was expected. */
export class HostError extends Error {
  override readonly name = "HostError";
}

export function inputAt(inputs: HostInputs, index: number): HostTensor {
  const input = inputs[index];
  if (input === undefined) throw new HostError(`input ${index} is left out, expected a tensor`);
  return input;
}
