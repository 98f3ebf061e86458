/** @file Values while a program runs, and what is asked of whoever holds and runs its parts. */
import type { Value } from "../../src/ir/model.ts";
import type { HostTensor } from "../host/operator.ts";
import type { PlanPort } from "../ir/step.ts";
import { bytesOfType, type StorageType } from "../ir/storage.ts";
import { elementCount } from "../ir/view.ts";
import type { Program, Stage } from "../plan/program.ts";
import type { Segment } from "../plan/segment.ts";

/** A segment ready to run. */
export interface LoadedSegment extends Disposable {
  addressOf(port: PlanPort): number;
  /** Queues it. */
  launch(): void;
}

/** Where segments run: everything is done in the order in which it was given. */
export interface SegmentDevice extends Disposable {
  /** `bound`: inputs that are somewhere already. */
  load(segment: Segment, bound: ReadonlyMap<PlanPort, number>): LoadedSegment;
  /** Valid until the next call of `reuse`. */
  allocate(bytes: number): number;
  /** Memory of `allocate` may be given out again. */
  reuse(): void;
  copy(from: number, to: number, bytes: number): void;
  upload(to: number, bytes: Uint8Array): void;
  /** Waits for all that was given before. */
  download(from: number, bytes: number): Uint8Array;
  synchronize(): void;
}

/** A value while a program runs: on the device, in the host's memory, or both. Row-major. */
export interface Held {
  readonly type: StorageType;
  readonly shape: readonly number[];
  readonly address: number | undefined;
  readonly host: HostTensor | undefined;
  /** Elsewhere at the next run. */
  readonly moves?: boolean;
}

export type HeldValues = Map<Value, Held>;

/** What a loop asks of the machine that runs its body. */
export interface ProgramMachine {
  readonly device: SegmentDevice;
  /** Runs a program to its end. `held` is added to. */
  execute(program: Program, held: HeldValues): { readonly held: HeldValues; readonly last: Stage };
  /** An output of a program that has run. */
  resultOf(value: Value, last: Stage, held: HeldValues): Held;
  /** A value in the host's memory. */
  hostOf(value: Value, stage: Stage, held: HeldValues): HostTensor;
  /** Writes a value to a place on the device. */
  place(held: Held, to: number): void;
}

export function bytesOf(type: StorageType, shape: readonly number[]): number {
  return elementCount(shape) * bytesOfType(type);
}
