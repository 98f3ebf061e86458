/** @file Tensors that nobody fills: what is launched on them can be looked at, and priced, on any machine. */
import type { Emitter } from "../ir/emitter.ts";
import type { Action, PlanTarget } from "../ir/step.ts";
import type { StorageType } from "../ir/storage.ts";
import type { View } from "../ir/view.ts";
import { PlanDraft } from "./buffers.ts";
import { PlanEmitter } from "./emitter.ts";

export class DraftOperands {
  readonly #draft = new PlanDraft();
  readonly emitter: Emitter;

  constructor(target: PlanTarget) {
    this.emitter = new PlanEmitter(this.#draft, target, false);
  }

  /** Packed; what is done to constants alone is no part of a run. */
  tensor(kind: "constant" | "input", type: StorageType, shape: readonly number[]): View {
    const view = this.#draft.allocate(kind, type, shape);
    const nothing = { buffer: view.buffer, offsetBytes: 0, sizeBytes: 0, readInto: () => {} };
    if (kind === "constant") this.#draft.upload(nothing);
    return view;
  }

  output(type: StorageType, shape: readonly number[]): View {
    return this.#draft.allocate("output", type, shape);
  }

  /** Of every run, in order. */
  actions(): Action[] {
    return this.#draft.finish().steps.map(({ action }) => action);
  }
}
