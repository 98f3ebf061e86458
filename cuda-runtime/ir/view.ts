/**
 * @file Tensors as strided views of buffers.
 *
 * A view has its axes in ONNX's order, whatever lies next to what in memory: NHWC is a view whose channel axis has
 * stride 1, a Transpose, a Slice or an Expand is another view of the same buffer. Kernels say which strides they take;
 * the plan copies where a view has others.
 */
import { OperandError } from "./operand-error.ts";
import { bytesOfType, type StorageType } from "./storage.ts";

/** Where a buffer's bytes come from, and how long they live. */
export type BufferKind =
  /** Written once, before the first run: weights, and what is computed from weights alone. */
  | "constant"
  | "input"
  | "output"
  /** Lives from its first step to its last, in the arena. */
  | "temporary";

export interface DeviceBuffer {
  /** Dense over a plan. */
  readonly id: number;
  readonly kind: BufferKind;
  readonly bytes: number;
  /** For the printed plan. */
  readonly name: string;
}

export interface View {
  readonly buffer: DeviceBuffer;
  readonly type: StorageType;
  readonly shape: readonly number[];
  /** In elements; 0 repeats, a negative one walks backwards. An axis of size 1 may have any. */
  readonly strides: readonly number[];
  /** In elements, from the buffer's start. */
  readonly offset: number;
}

export function elementCount(shape: readonly number[]): number {
  return shape.reduce((total, size) => total * size, 1);
}

/** Row-major strides, or those of `order`: axes from the outermost to the innermost. */
export function stridesOf(
  shape: readonly number[],
  order: readonly number[] = shape.map((_, axis) => axis),
): number[] {
  const strides = new Array<number>(shape.length).fill(0);
  let stride = 1;
  for (const axis of [...order].reverse()) {
    strides[axis] = stride;
    stride *= shape[axis] ?? 1;
  }
  return strides;
}

/** Memory that is nowhere, packed: for what asks how views lie, or what a launch on them would take. */
export function imaginedView(type: StorageType, shape: readonly number[], order?: readonly number[]): View {
  const buffer = { id: -1, kind: "temporary", bytes: 0, name: "imagined" } as const;
  return { buffer, type, shape, strides: stridesOf(shape, order), offset: 0 };
}

/** Axes from the outermost to the innermost, for channels_last: batch, spatial axes, channels. */
export function channelsLastOrder(rank: number): number[] {
  return rank < 3 ? Array.from({ length: rank }, (_, axis) => axis) : [0, ...range(2, rank), 1];
}

function range(from: number, to: number): number[] {
  return Array.from({ length: to - from }, (_, index) => from + index);
}

/** Axes by stride, the outermost first; axes of one element, or of one that repeats, keep their place. */
export function orderOf(view: Pick<View, "shape" | "strides">): number[] {
  const axes = view.shape.map((_, axis) => axis);
  const wide = axes.filter((axis) => view.shape[axis] !== 1 && view.strides[axis] !== 0);
  const sorted = [...wide].sort(
    (a, b) => Math.abs(view.strides[b] ?? 0) - Math.abs(view.strides[a] ?? 0) || a - b,
  );
  const positions = new Map(wide.map((axis, index) => [axis, sorted[index] ?? axis]));
  return axes.map((axis) => positions.get(axis) ?? axis);
}

/** Whether the elements fill their memory without gaps, in `order` (row-major unless given). */
export function isPacked(view: View, order?: readonly number[]): boolean {
  const expected = stridesOf(view.shape, order);
  return view.shape.every((size, axis) => size === 1 || view.strides[axis] === expected[axis]);
}

export function permuted(view: View, permutation: readonly number[]): View {
  return {
    ...view,
    shape: permutation.map((axis) => view.shape[axis] ?? 1),
    strides: permutation.map((axis) => view.strides[axis] ?? 0),
  };
}

/** `count` elements of `axis` from `start`, every `step`-th. */
export function sliced(view: View, axis: number, start: number, count: number, step = 1): View {
  const stride = view.strides[axis];
  if (stride === undefined) throw new OperandError(`there is no axis ${axis} in [${view.shape}]`);
  return {
    ...view,
    shape: view.shape.with(axis, count),
    strides: view.strides.with(axis, stride * step),
    offset: view.offset + (count === 0 ? 0 : start * stride),
  };
}

/** Elements of memory that it reaches: those that repeat count once, and so do those between which windows overlap. */
export function distinctCount({ shape, strides }: View): number {
  const axes = shape.map((size, axis) => ({ size, stride: Math.abs(strides[axis] ?? 0) }));
  const count = axes.reduce((product, { size, stride }) => (stride === 0 ? product : product * size), 1);
  const reach = axes.reduce((total, { size, stride }) => total + (size - 1) * stride, 1);
  return Math.max(0, Math.min(count, reach));
}

/** One slice of `axis`, without that axis. */
export function picked(view: View, axis: number, index: number): View {
  const { shape, strides, offset } = view;
  return {
    ...view,
    shape: shape.toSpliced(axis, 1),
    strides: strides.toSpliced(axis, 1),
    offset: offset + index * (strides[axis] ?? 0),
  };
}

/** Whether two views of one shape are the same elements of memory. */
export function isSamePlace(a: View, b: View): boolean {
  return (
    a.buffer === b.buffer &&
    a.offset === b.offset &&
    a.strides.every((stride, axis) => a.shape[axis] === 1 || stride === b.strides[axis])
  );
}

/** Broadcast as ONNX does: axes aligned from the right, axes of one element repeated. */
export function expanded(view: View, shape: readonly number[]): View {
  const missing = shape.length - view.shape.length;
  const strides = shape.map((size, axis) => {
    const own = view.shape[axis - missing];
    return own === undefined || (own === 1 && size !== 1) ? 0 : (view.strides[axis - missing] ?? 0);
  });
  return { ...view, shape, strides };
}

/** The same elements in another shape without a copy, or undefined where their strides do not allow it. */
export function reshaped(view: View, shape: readonly number[]): View | undefined {
  if (elementCount(shape) === 0) return { ...view, shape, strides: stridesOf(shape) };
  const runs = mergedRuns(view);
  const strides = new Array<number>(shape.length).fill(0);
  let axis = shape.length - 1;
  for (const run of runs.reverse()) {
    let rest = run.size;
    let stride = run.stride;
    while (axis >= 0 && rest > 1) {
      const size = shape[axis] ?? 1;
      if (rest % size !== 0) return undefined;
      strides[axis] = stride;
      stride *= size;
      rest /= size;
      axis--;
    }
  }
  return { ...view, shape, strides: strides.map((stride, at) => (shape[at] === 1 ? 1 : stride)) };
}

/**
 * In which order of axes a copy of `view` can be seen in `shape`. Where axes that become one are neighbours in memory, only these change
 * places: an image with channels innermost stays one when its channels are shuffled. Else row-major.
 */
export function orderToReshape(view: View, shape: readonly number[]): number[] {
  const axes = [...view.shape.keys()];
  const wide = axes.filter((axis) => view.shape[axis] !== 1);
  if (elementCount(shape) === 0 || wide.some((axis) => view.strides[axis] === 0)) return axes;
  const groupOf = groupsOfReshape(view.shape, shape);
  const outermostFirst = orderOf(view).filter((axis) => view.shape[axis] !== 1);
  const groups = outermostFirst
    .map((axis) => groupOf[axis])
    .filter((group, at, all) => at === 0 || group !== all[at - 1]);
  if (new Set(groups).size !== groups.length) return axes;
  const inGroups = groups.flatMap((group) => wide.filter((axis) => groupOf[axis] === group));
  return [...axes.filter((axis) => !wide.includes(axis)), ...inGroups];
}

/** Of each axis, the number of the group of axes that a reshape takes together: the smallest whose elements are those of some new axes. */
function groupsOfReshape(from: readonly number[], to: readonly number[]): number[] {
  let [group, before, after, next] = [0, 1, 1, 0];
  return from.map((size) => {
    before *= size;
    while (after < before) after *= to[next++] ?? 1;
    return after === before ? group++ : group;
  });
}

/** Neighbouring axes that lie one within the other, as one; outermost first, axes of one element left out. */
function mergedRuns(view: View): { size: number; stride: number }[] {
  const runs: { size: number; stride: number }[] = [];
  for (const [axis, size] of view.shape.entries()) {
    if (size === 1) continue;
    const stride = view.strides[axis] ?? 0;
    const last = runs.at(-1);
    if (last !== undefined && last.stride === stride * size) {
      last.size *= size;
      last.stride = stride;
    } else {
      runs.push({ size, stride });
    }
  }
  return runs;
}

/** The largest power of two, up to 16, that divides the address of the first element and every stride but the last axis'. */
export function alignmentOf(view: View, unitAxis: number = view.shape.length - 1): number {
  const bytes = bytesOfType(view.type);
  const offsets = view.strides.filter((_, axis) => axis !== unitAxis && (view.shape[axis] ?? 1) > 1);
  let alignment = 16;
  for (const offset of [view.offset, ...offsets]) {
    while (alignment > 1 && (offset * bytes) % alignment !== 0) alignment /= 2;
  }
  return alignment;
}

/** For messages and the printed plan: `float16[1,64,56,56]{0,2,3,1}`, the order only where it is not row-major. */
export function describeView(view: View): string {
  const order = orderOf(view);
  const isPlain = order.every((axis, index) => axis === index);
  return `${view.type}[${view.shape.join(",")}]${isPlain ? "" : `{${order.join(",")}}`}`;
}

/** Whether a tensor of the one shape is repeated to the other by what ONNX calls broadcasting. */
export function broadcastsTo(from: readonly number[], to: readonly number[]): boolean {
  const missing = to.length - from.length;
  return missing >= 0 && from.every((size, axis) => size === 1 || size === to[axis + missing]);
}

/** A view of [N, …spatial, C] as [N, C, …spatial]. */
export function channelsSecond(view: View): View {
  const rank = view.shape.length;
  return permuted(view, [0, rank - 1, ...Array.from({ length: rank - 2 }, (_, axis) => axis + 1)]);
}
