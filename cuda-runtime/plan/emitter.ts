/** @file What emits kernels into a plan, whatever operator they are for. */

import type { TensorRef } from "../../src/ir/model.ts";
import type { TensorBytes } from "../../src/ir/patch.ts";
import { predicting } from "../cost/candidate.ts";
import { notStored } from "../graph/known.ts";
import type { Emitter } from "../ir/emitter.ts";
import { encodeValues } from "../ir/encode.ts";
import type { Expr } from "../ir/expr.ts";
import { nodesOf, productsIn } from "../ir/expr-walk.ts";
import { OperandError } from "../ir/operand-error.ts";
import type { Chooser, Question } from "../ir/question.ts";
import { type Launch, PlanError, type PlanTarget } from "../ir/step.ts";
import { bytesOfType, isStorageType, type StorageType } from "../ir/storage.ts";
import { broadcastsTo, elementCount, expanded, isPacked, type View } from "../ir/view.ts";
import { copyViews } from "../kernels/transpose/transpose.ts";
import { compileChain } from "../ptx/compile.ts";
import type { PlanDraft } from "./buffers.ts";

/** Values that are constants more than once are uploaded once, up to this many elements. */
const maxSharedElements = 64;

/** As text, two zeros would be one. */
function keyOf(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

export class PlanEmitter implements Emitter {
  readonly target: PlanTarget;
  readonly tf32: boolean;
  readonly draft: PlanDraft;
  readonly #chooser: Chooser;
  readonly #constants = new Map<string, View>();
  /** By the hash of its text: a plan that copies a hundred thousand tensors holds the text of one copy. */
  readonly #kernels = new Map<string, Launch["kernel"]>();

  /** `chooser` answers where there is a choice: by prediction unless given. */
  constructor(draft: PlanDraft, target: PlanTarget, tf32: boolean, chooser: Chooser = predicting) {
    this.#chooser = chooser;
    this.draft = draft;
    this.target = target;
    this.tf32 = tf32;
  }

  launch(launch: Launch): void {
    this.draft.add({ kind: "launch", launch: { ...launch, kernel: this.#shared(launch.kernel) } });
  }

  choose<Way>(question: Question<Way>): boolean {
    const { label, operator } = this.draft.origin;
    const isConstant = (view: View) => this.isConstant(view);
    const answer = this.#chooser.answer(question, { label, operator, isConstant });
    if (answer === undefined) return false;
    this.draft.choosing(answer.by, () => question.emit(this, answer.launch));
    return true;
  }

  #shared(kernel: Launch["kernel"]): Launch["kernel"] {
    if (kernel.kind !== "ptx") return kernel;
    const known = this.#kernels.get(kernel.entry) ?? kernel;
    this.#kernels.set(kernel.entry, known);
    return known;
  }

  clear(view: View): void {
    this.draft.add({ kind: "clear", view });
  }

  temporary(type: StorageType, shape: readonly number[], order?: readonly number[]): View {
    return this.draft.allocate("temporary", type, shape, order);
  }

  constant(type: StorageType, shape: readonly number[], values: readonly number[]): View {
    const key =
      values.length <= maxSharedElements
        ? `${type} ${shape.join(",")} ${values.map(keyOf).join(",")}`
        : undefined;
    const known = key === undefined ? undefined : this.#constants.get(key);
    if (known !== undefined) return known;
    const view = this.draft.allocate("constant", type, shape);
    const bytes = encodeValues(type, values);
    this.draft.upload({
      buffer: view.buffer,
      offsetBytes: 0,
      sizeBytes: bytes.length,
      readInto: (offset, target) => target.set(bytes.subarray(offset, offset + target.length)),
    });
    if (key !== undefined) this.#constants.set(key, view);
    return view;
  }

  /** A tensor of the file. Its bytes are asked for when they are wanted. */
  upload(tensor: TensorRef, name: string, weights: (tensor: TensorRef) => TensorBytes): View {
    const { dtype, dims } = tensor;
    if (!isStorageType(dtype))
      throw new PlanError("weight", `weight "${name}" ${notStored({ kind: "tensor", dtype, shape: dims })}`);
    const { draft } = this;
    const view = draft.during({ ...draft.origin, label: name }, () =>
      draft.allocate("constant", dtype, dims),
    );
    let bytes: TensorBytes | undefined;
    const source = () => {
      bytes ??= weights(tensor);
      return bytes;
    };
    draft.upload({
      buffer: view.buffer,
      offsetBytes: 0,
      sizeBytes: elementCount(dims) * bytesOfType(dtype),
      readInto: (offset, target) => source().readInto(offset, target),
    });
    return view;
  }

  copy(from: View, to: View): void {
    if (elementCount(to.shape) > 0) copyViews(this, expanded(from, to.shape), to);
  }

  packed(
    view: View,
    options: { readonly order?: readonly number[]; readonly type?: StorageType } = {},
  ): View {
    const { order, type = view.type } = options;
    if (type === view.type && isPacked(view, order)) return view;
    const to = this.temporary(type, view.shape, order);
    this.copy(view, to);
    return to;
  }

  evaluate(expr: Expr, shape: readonly number[], type: StorageType, order?: readonly number[]): View {
    const to = this.temporary(type, shape, order);
    this.evaluateInto(expr, to);
    return to;
  }

  evaluateInto(expr: Expr, to: View): void {
    if (productsIn(expr).length > 0) throw new Error("tc-lint bug: a product is evaluated as a chain");
    this.#refuseMisfits(expr, to.shape);
    if (expr.kind === "load" && expr.view.type === to.type) {
      this.copy(expr.view, to);
      return;
    }
    const launch = compileChain({ shape: to.shape, outputs: [{ expr, to }] }, this.target);
    if (launch !== undefined) this.launch(launch);
  }

  /** What inference let pass, as an operator's operands need not broadcast. */
  #refuseMisfits(expr: Expr, shape: readonly number[]): void {
    for (const node of nodesOf(expr)) {
      if (node.kind !== "load" || broadcastsTo(node.view.shape, shape)) continue;
      throw new OperandError(
        `an operand [${node.view.shape.join(",")}] does not broadcast to [${shape.join(",")}]`,
      );
    }
  }

  isConstant(view: View): boolean {
    return this.draft.isConstant(view);
  }
}
