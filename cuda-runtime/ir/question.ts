/** @file A choice among ways to compute something, put as a question: predictions answer it, or somebody who has measured. */
import type { Emitter } from "./emitter.ts";
import type { ChosenBy } from "./step.ts";
import { bytesOfType } from "./storage.ts";
import type { DeviceBuffer, View } from "./view.ts";

/** One way of computing something. */
export interface Candidate<Launch> {
  /** What is launched, in its family's words: the row of a table, and how it is cut. */
  readonly launch: Launch;
  /** Predicted, of all steps that it takes: copies of operands and sums of splits included. */
  readonly microseconds: number;
}

export interface Question<Launch> {
  /** All that candidates and their times depend on, but the GPU: questions of one key have the same answer. */
  key(): string;
  /** Those that a family would rather take come first. */
  candidates(): Iterable<Candidate<Launch>>;
  /** The kernel and how it is fed, whatever the cut into splits: candidates of one variant are alike. */
  variantOf(launch: Launch): string;
  /** As the printed plan has it; tells the candidates of one question apart. */
  nameOf(launch: Launch): string;
  /** Emits all steps of one into an emitter that need not be the asking one. */
  emit(emitter: Emitter, launch: Launch): void;
}

export interface Answer<Launch> extends Candidate<Launch> {
  readonly by: ChosenBy;
}

/** Who asks: the node that the steps are for, and what is constant there. */
export interface Asking {
  readonly label: string;
  readonly operator: string;
  isConstant(view: View): boolean;
}

export interface Chooser {
  /** Undefined where there is no candidate. */
  answer<Launch>(question: Question<Launch>, asking: Asking): Answer<Launch> | undefined;
}

/** Kernels ask for no more of an address. */
const alignment = 256;

/**
 * What a family's candidates depend on as text: views by their shapes and strides, buffers by the order in which they are named
 * (whether two are one counts, which one does not), offsets by what they are aligned to.
 */
export function questionKey(family: string, about: object): string {
  const buffers = new Map<DeviceBuffer, number>();
  return JSON.stringify([family, about], (_, value: unknown) => {
    if (!isView(value)) return value;
    const { buffer, type, shape, strides, offset } = value;
    const index = buffers.get(buffer) ?? buffers.size;
    buffers.set(buffer, index);
    const from = (((offset * bytesOfType(type)) % alignment) + alignment) % alignment;
    return [index, type, shape.join("x"), strides.join("x"), from].join(" ");
  });
}

function isView(value: unknown): value is View {
  return typeof value === "object" && value !== null && "buffer" in value && "strides" in value;
}
