/** @file Which kernels are tried, which of them wins, and what is believed of the cache. */
import { describe, expect, it } from "vitest";
import { emitLayer, emitProduct } from "../../bench/gpu/operations.ts";
import type { Emitter } from "../../cuda-runtime/ir/emitter.ts";
import { h200 } from "../../cuda-runtime/ir/step.ts";
import { permuted } from "../../cuda-runtime/ir/view.ts";
import { emitGemm } from "../../cuda-runtime/kernels/gemm/gemm.ts";
import { emittedAlone } from "../../cuda-runtime/plan/alone.ts";
import { PlanDraft } from "../../cuda-runtime/plan/buffers.ts";
import { DraftOperands } from "../../cuda-runtime/plan/draft-operands.ts";
import { PlanEmitter } from "../../cuda-runtime/plan/emitter.ts";
import { contendersOf, winnerOf } from "../../src/gpu/autotune/contest.ts";
import { MeasuredChoices, QuestionRecorder, type Way } from "../../src/gpu/autotune/recorder.ts";
import { verdictIn } from "../../src/gpu/autotune/verdicts.ts";

function way(name: string, microseconds: number, variant = name): Way {
  return { name, variant, microseconds, emit: () => {} };
}

/** A product of a layer, asked as a planner does. */
function product(emitter: Emitter, draft: PlanDraft, [m, n, k]: readonly [number, number, number]): void {
  const w = draft.allocate("constant", "float16", [n, k]);
  draft.upload({ buffer: w.buffer, offsetBytes: 0, sizeBytes: 0, readInto: () => {} });
  const a = draft.allocate("input", "float16", [m, k]);
  emitGemm(emitter, { a, b: permuted(w, [1, 0]), to: draft.allocate("output", "float16", [m, n]) });
}

function recorded(...sizes: readonly (readonly [number, number, number])[]): QuestionRecorder {
  const recorder = new QuestionRecorder();
  const draft = new PlanDraft();
  const emitter = new PlanEmitter(draft, h200, false, recorder);
  for (const size of sizes) product(emitter, draft, size);
  return recorder;
}

describe("contenders", () => {
  it("are what is predicted to be near the best, other kernels before other cuts of the same", () => {
    const ways = [
      way("a", 10),
      ...[10.1, 10.2, 10.3, 10.4, 10.5].map((time) => way(`a split ${time}`, time, "a")),
      way("b", 12),
      way("c", 15),
      way("far", 17),
    ];
    expect(contendersOf(ways).map(({ name }) => name)).toEqual([
      "a",
      "a split 10.1",
      "a split 10.2",
      "a split 10.3",
      "b",
      "c",
    ]);
    expect(contendersOf([])).toEqual([]);
  });
});

describe("the winner", () => {
  const turns = (median: number, spread = 0.01) =>
    Array.from({ length: 15 }, (_, turn) => median * (1 + spread * Math.sin(7 * turn)));

  it("is the predicted one unless another wins beyond noise and by 2 %", () => {
    expect(winnerOf([turns(10), turns(9.9), turns(10.5)])).toBe(0);
    expect(winnerOf([turns(10), turns(9.5), turns(9)])).toBe(2);
    const noisy = Array.from({ length: 15 }, (_, turn) => (turn % 2 === 0 ? 5 : 14.4));
    expect(winnerOf([turns(10), noisy])).toBe(0);
  });

  it("is none of those that left early", () => {
    expect(winnerOf([turns(10), turns(5).slice(0, 3)])).toBe(0);
  });
});

describe("a question", () => {
  it("is asked once by steps of one shape, whichever buffers they have", () => {
    const { asked } = recorded([128, 768, 768], [128, 768, 768], [128, 3072, 768]);
    expect(asked.map(({ places }) => places.length).sort()).toEqual([1, 2]);
  });

  it("has answers that are emitted alone as they are in the plan, packing at load", () => {
    const set = new DraftOperands(h200);
    emitProduct(set, { M: 128, N: 768, K: 768 }, "float16");
    const [best] = recorded([128, 768, 768]).asked;
    const alone = emittedAlone((emitter) => best?.ways[0]?.emit(emitter), {
      target: h200,
      tf32: false,
      isConstant: (view) => best?.isConstant(view) ?? false,
    });
    const kernelsOf = (actions: ReturnType<DraftOperands["actions"]>) =>
      actions.map((action) => (action.kind === "launch" ? action.launch.kernel : "clear"));
    expect(kernelsOf(alone.steps.map(({ action }) => action))).toEqual(kernelsOf(set.actions()));
  });

  it("of a convolution has several ways, whose names are their own", () => {
    const recorder = new QuestionRecorder();
    const draft = new PlanDraft();
    const emitter = new PlanEmitter(draft, h200, false, recorder);
    const tensor = (kind: "constant" | "input", type: "float16", shape: readonly number[]) => {
      const view = draft.allocate(kind, type, shape);
      if (kind === "constant")
        draft.upload({ buffer: view.buffer, offsetBytes: 0, sizeBytes: 0, readInto: () => {} });
      return view;
    };
    const output = (type: "float16", shape: readonly number[]) => draft.allocate("output", type, shape);
    const layer = { channels: 64, size: [28, 28], filters: 128, taps: 3, stride: 1, pad: 1, groups: 1 };
    emitLayer(
      { emitter, tensor: tensor as DraftOperands["tensor"], output: output as DraftOperands["output"] },
      layer,
      8,
      "float16",
    );
    const contenders = contendersOf(recorder.asked[0]?.ways ?? []);
    expect(contenders.length).toBeGreaterThan(2);
    expect(new Set(contenders.map(({ name }) => name)).size).toBe(contenders.length);
  });
});

describe("what was measured", () => {
  it("is taken though another is predicted to take less: the one exception to what chooses is what predicts", () => {
    const [asked] = recorded([128, 768, 768]).asked;
    const slower = contendersOf(asked?.ways ?? [])[1];
    const draft = new PlanDraft();
    const choices = new MeasuredChoices(new Map([[asked?.key ?? "", slower?.name ?? ""]]));
    product(new PlanEmitter(draft, h200, false, choices), draft, [128, 768, 768]);
    product(new PlanEmitter(draft, h200, false, choices), draft, [128, 512, 768]);
    const { steps } = draft.finish();
    expect(new Set(steps.map(({ chosenBy }) => chosenBy))).toEqual(new Set(["measured", "predicted"]));
    const details = steps.map(({ action }) => (action.kind === "launch" ? action.launch.detail : ""));
    expect(details).toContain(slower?.name);
  });
});

describe("a verdict in the cache", () => {
  const read = (content: unknown) => verdictIn(Buffer.from(JSON.stringify(content)), 2);

  it("is believed if it is of so many contenders, and whole", () => {
    expect(read({ winner: 1, microseconds: [3, 2] })).toEqual({ winner: 1, microseconds: [3, 2] });
    for (const bad of [
      { winner: 2, microseconds: [3, 2] },
      { winner: -1, microseconds: [3, 2] },
      { winner: 0.5, microseconds: [3, 2] },
      { winner: 1, microseconds: [3] },
      { winner: 1, microseconds: [3, null] },
      { microseconds: [3, 2] },
      { winner: 1 },
      [],
    ])
      expect(read(bad)).toBeUndefined();
  });
});
