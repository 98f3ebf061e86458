/** @file Buffers and steps while a plan is made: which of them depend on nothing but weights is known at the end. */

import { OperandError, OperandSizeError } from "../ir/operand-error.ts";
import {
  type Action,
  type ChosenBy,
  PlanError,
  PlanSizeError,
  type Step,
  touched,
  type Upload,
} from "../ir/step.ts";
import { bytesOfType, type StorageType } from "../ir/storage.ts";
import {
  type BufferKind,
  type DeviceBuffer,
  elementCount,
  isPacked,
  stridesOf,
  type View,
} from "../ir/view.ts";
import { withoutDuplicates } from "./duplicates.ts";

interface DraftBuffer extends DeviceBuffer {
  kind: BufferKind;
  name: string;
}

/** The node that steps are for: `labelOf` of it, and its operator. */
export interface Origin {
  readonly label: string;
  readonly operator: string;
  /** As `Step.beside`. */
  readonly beside?: readonly string[] | undefined;
  /** As error messages name it. */
  readonly subject: string;
}

/** Nobody asks any more what a launch is of. */
function withoutProduct(step: Step): Step {
  if (step.action.kind !== "launch" || step.action.launch.product === undefined) return step;
  return { ...step, action: { ...step.action, launch: { ...step.action.launch, product: undefined } } };
}

export class PlanDraft {
  readonly #buffers: DraftBuffer[] = [];
  readonly #steps: Step[] = [];
  readonly #uploads: Upload[] = [];
  /** Buffers that some step writes which reads what changes from run to run. */
  readonly #variable = new Set<DeviceBuffer>();
  readonly #written = new Set<DeviceBuffer>();
  #chosenBy: ChosenBy | undefined;
  readonly #outside: ((view: View) => boolean) | undefined;
  #origin: Origin = { label: "", operator: "", subject: "the model" };

  /** `outside` says of buffers that are somebody else's whether they are constant: for steps of a plan by themselves. */
  constructor(outside?: (view: View) => boolean) {
    this.#outside = outside;
  }

  buffer(kind: BufferKind, bytes: number, name: string): DeviceBuffer {
    const buffer: DraftBuffer = { id: this.#buffers.length, kind, bytes, name };
    this.#buffers.push(buffer);
    if (kind === "input") this.#variable.add(buffer);
    return buffer;
  }

  /** A view of a new buffer, packed in `order`. */
  allocate(kind: BufferKind, type: StorageType, shape: readonly number[], order?: readonly number[]): View {
    const bytes = Math.max(1, elementCount(shape)) * bytesOfType(type);
    const buffer = this.buffer(kind, bytes, this.#origin.label);
    return { buffer, type, shape, strides: stridesOf(shape, order), offset: 0 };
  }

  upload(upload: Upload): void {
    this.#uploads.push(upload);
    this.#written.add(upload.buffer);
  }

  add(action: Action): void {
    const { label, operator, beside } = this.#origin;
    this.#steps.push({ action, label, operator, beside, chosenBy: this.#chosenBy });
    const [reads, writes] = touched(action);
    for (const view of [...reads, ...writes]) this.#meet(view);
    const varies = reads.some(({ buffer }) => this.#variable.has(buffer));
    for (const { buffer } of writes) {
      this.#written.add(buffer);
      if (varies) this.#variable.add(buffer);
    }
  }

  /** What is somebody else's is constant or not before any step says so. */
  #meet(view: View): void {
    if (this.#outside === undefined || this.#buffers[view.buffer.id] === view.buffer) return;
    if (this.#outside(view)) this.#written.add(view.buffer);
    else this.#variable.add(view.buffer);
  }

  /** What `work` adds was chosen so. */
  choosing<Result>(by: ChosenBy, work: () => Result): Result {
    const before = this.#chosenBy;
    this.#chosenBy = by;
    try {
      return work();
    } finally {
      this.#chosenBy = before;
    }
  }

  /** The node at hand. */
  get origin(): Origin {
    return this.#origin;
  }

  set origin(origin: Origin) {
    this.#origin = origin;
  }

  /** What `work` adds is for another node than the one at hand: of what was deferred, when it is wanted at last. */
  during<Result>(origin: Origin, work: () => Result): Result {
    const before = this.#origin;
    this.#origin = origin;
    try {
      return this.naming(work);
    } finally {
      this.#origin = before;
    }
  }

  /** An operand that a kernel cannot take is a PlanError of the node at hand. */
  naming<Result>(work: () => Result): Result {
    try {
      return work();
    } catch (error) {
      if (!(error instanceof OperandError)) throw error;
      const { operator, subject } = this.#origin;
      const Refusal = error instanceof OperandSizeError ? PlanSizeError : PlanError;
      throw new Refusal(operator, `${subject}: ${error.message}`);
    }
  }

  /** As far as is known now: a buffer that nothing has written yet is not constant. */
  isConstant(view: View): boolean {
    const { buffer } = view;
    this.#meet(view);
    return buffer.kind !== "output" && this.#written.has(buffer) && !this.#variable.has(buffer);
  }

  /** The view's memory becomes an output's, where a kernel has written all of it for nobody else, row-major. */
  handOut({ buffer, type, shape, offset, ...view }: View, name: string): boolean {
    const draft = this.#buffers[buffer.id];
    const isAll = buffer.bytes === elementCount(shape) * bytesOfType(type) && offset === 0;
    const isMine = draft?.kind === "temporary" && this.#variable.has(buffer);
    if (!isMine || !isAll || !isPacked({ buffer, type, shape, offset, ...view })) return false;
    draft.kind = "output";
    draft.name = name;
    return true;
  }

  /** `join` makes fewer of the steps that run every time. */
  finish(join: (steps: readonly Step[]) => readonly Step[] = (steps) => steps): {
    buffers: DeviceBuffer[];
    uploads: Upload[];
    prepare: Step[];
    steps: Step[];
  } {
    const varies = this.#spread();
    const { prepare, steps } = withoutDuplicates(
      this.#steps.filter((step) => !varies.has(step)).map(withoutProduct),
      join(this.#steps.filter((step) => varies.has(step))).map(withoutProduct),
    );
    const used = new Set<DeviceBuffer>();
    for (const step of steps) for (const { buffer } of touched(step.action).flat()) used.add(buffer);
    for (const step of prepare) {
      for (const { buffer } of touched(step.action)[1]) {
        const draft = this.#buffers[buffer.id];
        if (draft === buffer && draft.kind === "temporary" && used.has(buffer)) draft.kind = "constant";
      }
    }
    return { buffers: this.#buffers, uploads: this.#uploads, prepare, steps };
  }

  /** Steps that run every time: those that read what varies, and all that write where one of these writes. */
  #spread(): ReadonlySet<Step> {
    const varies = new Set<Step>();
    for (let before = -1; before !== varies.size + this.#variable.size; ) {
      before = varies.size + this.#variable.size;
      for (const step of this.#steps) {
        const [reads, writes] = touched(step.action);
        const all = [...reads, ...writes];
        const isOutput = writes.some(({ buffer }) => buffer.kind === "output");
        if (!isOutput && !all.some(({ buffer }) => this.#variable.has(buffer))) continue;
        varies.add(step);
        for (const { buffer } of writes) this.#variable.add(buffer);
      }
    }
    return varies;
  }
}
