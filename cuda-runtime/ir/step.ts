/** @file What a plan is: buffers, and steps over them in order. Plain data, so that it can be printed and sent to a process. */

import { type Machine, machineNamed } from "../../src/hardware/machine.ts";
import type { Node, Value } from "../../src/ir/model.ts";
import type { ParamBlock } from "./params.ts";
import type { LaunchedProduct } from "./product.ts";
import type { DeviceBuffer, View } from "./view.ts";

/** A kernel of a fatbin (`family`: kernels/<family>/<family>.cu), or of PTX text made for this plan. */
export type KernelRef =
  | { readonly kind: "built"; readonly family: string; readonly entry: string }
  | { readonly kind: "ptx"; readonly text: string; readonly entry: string };

export type Dim3 = readonly [number, number, number];

export interface Launch {
  readonly kernel: KernelRef;
  readonly grid: Dim3;
  readonly block: Dim3;
  /** Dynamic shared memory. */
  readonly sharedBytes: number;
  /** Blocks of a cluster along each axis, which divide the grid's, where the target has clusters; undefined: there are none. */
  readonly cluster?: Dim3 | undefined;
  /** Blocks wait for each other: there are no more of them than the GPU has multiprocessors. */
  readonly isAtOnce?: boolean | undefined;
  readonly params: ParamBlock;
  readonly reads: readonly View[];
  readonly writes: readonly View[];
  /** What it moves, where that is not all of its views: of a table, the rows that are asked for. */
  readonly movedBytes?: number | undefined;
  /** Of the whole launch, where it is a product: multiply-adds count two. */
  readonly flops?: number | undefined;
  /** By the model that the kernel was chosen with; undefined: as `cost/predict.ts` prices a pass over memory. */
  readonly predictedMicroseconds?: number | undefined;
  /** For the printed plan: tile, variant, sizes. */
  readonly detail?: string | undefined;
  /** Of a whole product of halves in one launch; plans that are done have none. */
  readonly product?: LaunchedProduct | undefined;
}

export type Action = (
  | { readonly kind: "launch"; readonly launch: Launch }
  /** Bytes set to zero, for kernels that add into their output. */
  | { readonly kind: "clear"; readonly view: View }
) & {
  /** The first of a run: it waits for the graph to begin. */
  readonly opensRun?: true;
  /** Where others run beside it: what such a stretch of steps takes, of what it would take in order. */
  readonly runShare?: number | undefined;
};

/** What an action reads and what it writes. */
export function touched(action: Action): readonly [readonly View[], readonly View[]] {
  return action.kind === "launch" ? [action.launch.reads, action.launch.writes] : [[], [action.view]];
}

/** How a launch was chosen among several: by the time that was predicted, or by one that was measured on a GPU. */
export type ChosenBy = "predicted" | "measured";

export interface Step {
  readonly action: Action;
  /** The node it is for, as `labelOf` prints it, and its operator. */
  readonly label: string;
  readonly operator: string;
  /** Other products that it computes, of the same activation or of the first one's result, as `labelOf` prints their nodes. */
  readonly beside?: readonly string[] | undefined;
  /** What it is launched on, one step behind another: others may run beside those of another lane. The first unless given. */
  readonly lane?: number | undefined;
  /** Steps of other lanes that it waits for, by their places in the run. */
  readonly waits?: readonly number[] | undefined;
  /** Undefined where there was nothing to choose. */
  readonly chosenBy?: ChosenBy | undefined;
}

/** A constant buffer's content. */
export interface Upload {
  readonly buffer: DeviceBuffer;
  readonly offsetBytes: number;
  readonly sizeBytes: number;
  /** Reads the bytes when they are wanted: weights may be larger than memory. */
  readonly readInto: (offset: number, target: Uint8Array) => void;
}

export interface PlanPort {
  readonly name: string;
  readonly view: View;
}

export interface Plan {
  readonly buffers: readonly DeviceBuffer[];
  readonly uploads: readonly Upload[];
  /** Once, after the uploads. */
  readonly prepare: readonly Step[];
  /** At every run. */
  readonly steps: readonly Step[];
  /** Row-major, of the model's own types: what the caller writes and reads. */
  readonly inputs: readonly PlanPort[];
  readonly outputs: readonly PlanPort[];
}

/** A GPU as planning sees it: no handle, so that plans are made without one. */
export type PlanTarget = Machine;

/** What plans are for where nobody says. */
export const h200: PlanTarget = machineNamed("h200");

/** The model asks for something that the runtime does not do. `operator` is what the list of unsupported ones counts. */
export class PlanError extends Error {
  override readonly name = "PlanError";
  readonly operator: string;

  constructor(operator: string, message: string) {
    super(message);
    this.operator = operator;
  }
}

/** A tensor of more elements than kernels can count: the same model at smaller sizes may be planned. */
export class PlanSizeError extends PlanError {}

/** Values decide what they may not: elements of an input that are not known while planning. */
export class DataError extends PlanError {
  /** The node that asks for elements, or whose result has a size that data decides. */
  readonly node: Node | undefined;
  /** The values whose elements it asks for; undefined where that is not known. */
  readonly values: readonly Value[] | undefined;

  constructor(operator: string, message: string, node?: Node, values?: readonly Value[]) {
    super(operator, message);
    this.node = node;
    this.values = values;
  }
}
