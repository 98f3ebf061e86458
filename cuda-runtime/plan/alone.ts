/** @file Steps of a plan by themselves: what one way to compute something is, apart from the model that asks for it. */
import type { Emitter } from "../ir/emitter.ts";
import type { Plan, PlanTarget } from "../ir/step.ts";
import type { View } from "../ir/view.ts";
import { PlanDraft } from "./buffers.ts";
import { PlanEmitter } from "./emitter.ts";

/** `steps` run every time, `prepare` once; buffers that neither they nor `uploads` write are somebody else's. */
export type StepsAlone = Pick<Plan, "uploads" | "prepare" | "steps">;

export interface AloneOptions {
  readonly target: PlanTarget;
  readonly tf32: boolean;
  /** Of views of buffers that are the plan's. */
  readonly isConstant: (view: View) => boolean;
}

export function emittedAlone(
  emit: (emitter: Emitter) => void,
  { target, tf32, isConstant }: AloneOptions,
): StepsAlone {
  const draft = new PlanDraft(isConstant);
  emit(new PlanEmitter(draft, target, tf32));
  return draft.finish();
}
