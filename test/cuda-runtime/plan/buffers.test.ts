/** @file What is computed once and what at every run: told by what steps read and write. */
import { describe, expect, test } from "vitest";
import { ParamWriter } from "../../../cuda-runtime/ir/params.ts";
import { type Action, h200 } from "../../../cuda-runtime/ir/step.ts";
import type { BufferKind, View } from "../../../cuda-runtime/ir/view.ts";
import { PlanDraft } from "../../../cuda-runtime/plan/buffers.ts";
import { PlanEmitter } from "../../../cuda-runtime/plan/emitter.ts";
import { info, node } from "../../onnx/build.ts";
import { attribute, familiesOf, planOf, weight } from "../small-plan.ts";

function launch(reads: readonly View[], writes: readonly View[]): Action {
  const kernel = { kind: "built", family: "none", entry: "none" } as const;
  const params = new ParamWriter().done();
  return {
    kind: "launch",
    launch: { kernel, grid: [1, 1, 1], block: [1, 1, 1], sharedBytes: 0, params, reads, writes },
  };
}

class Draft extends PlanDraft {
  make(kind: BufferKind): View {
    const view = this.allocate(kind, "float32", [4]);
    if (kind === "constant")
      this.upload({ buffer: view.buffer, offsetBytes: 0, sizeBytes: 16, readInto: () => undefined });
    return view;
  }

  for(label: string): void {
    this.origin = { label, operator: "", subject: label };
  }

  step(label: string, reads: readonly View[], ...writes: View[]): void {
    this.for(label);
    this.add(launch(reads, writes));
  }

  split(): { prepare: string[]; steps: string[] } {
    const { prepare, steps } = this.finish();
    const labels = (all: typeof steps) => all.map(({ label }) => label);
    return { prepare: labels(prepare), steps: labels(steps) };
  }
}

describe("a step", () => {
  test("over weights alone runs once, and what it writes stays", () => {
    const draft = new Draft();
    const [weights, packed, input, output] = [
      draft.make("constant"),
      draft.make("temporary"),
      draft.make("input"),
      draft.make("output"),
    ];
    draft.step("pack", [weights], packed);
    expect(draft.isConstant(packed)).toBe(true);
    expect(draft.isConstant(input)).toBe(false);
    draft.step("product", [packed, input], output);
    expect(draft.split()).toEqual({ prepare: ["pack"], steps: ["product"] });
    expect(packed.buffer.kind).toBe("constant");
  });

  test("whose result only other constants need leaves nothing behind", () => {
    const draft = new Draft();
    const [weights, half, packed] = [
      draft.make("constant"),
      draft.make("temporary"),
      draft.make("temporary"),
    ];
    draft.step("round", [weights], half);
    draft.step("pack", [half], packed);
    draft.step("product", [packed, draft.make("input")], draft.make("output"));
    expect(draft.split()).toEqual({ prepare: ["round", "pack"], steps: ["product"] });
    expect([half.buffer.kind, packed.buffer.kind]).toEqual(["temporary", "constant"]);
  });

  test("over weights runs each time where a later one writes beside it, and so does what reads it", () => {
    const draft = new Draft();
    const [weights, joined, beside] = [
      draft.make("constant"),
      draft.make("temporary"),
      draft.make("temporary"),
    ];
    draft.step("part", [weights], joined);
    draft.step("read", [joined], beside);
    draft.step("other part", [draft.make("input")], joined);
    expect(draft.split()).toEqual({ prepare: [], steps: ["part", "read", "other part"] });
    expect(joined.buffer.kind).toBe("temporary");
  });

  test("that writes an output runs each time", () => {
    const draft = new Draft();
    const output = draft.make("output");
    draft.step("constant output", [draft.make("constant")], output);
    expect(draft.isConstant(output)).toBe(false);
    expect(draft.split()).toEqual({ prepare: [], steps: ["constant output"] });
  });

  test("that clears what is added into runs as often as that", () => {
    const draft = new Draft();
    const [once, always] = [draft.make("temporary"), draft.make("temporary")];
    draft.for("clear once");
    draft.add({ kind: "clear", view: once });
    draft.step("sum of weights", [draft.make("constant")], once);
    draft.for("clear each time");
    draft.add({ kind: "clear", view: always });
    draft.step("sum", [draft.make("input"), once], always);
    expect(draft.split()).toEqual({
      prepare: ["clear once", "sum of weights"],
      steps: ["clear each time", "sum"],
    });
  });
});

test("memory that nobody has written is not constant", () => {
  const draft = new Draft();
  expect(draft.isConstant(draft.make("temporary"))).toBe(false);
});

test("equal constants are one, as far as they are equal", () => {
  const emitter = new PlanEmitter(new PlanDraft(), h200, false);
  const zero = emitter.constant("float32", [1], [0]);
  expect(emitter.constant("float32", [1], [0])).toBe(zero);
  expect(emitter.constant("float32", [1], [-0])).not.toBe(zero);
  expect(emitter.constant("float16", [1], [0])).not.toBe(zero);
  expect(emitter.constant("float32", [1, 1], [0])).not.toBe(zero);
});

test("a model's weights are packed once, its activations each time", () => {
  const { prepare, steps, buffers } = planOf({
    node: [node("Gemm", ["x", "w", "b"], ["y"], { attribute: [attribute("transB", 1)] })],
    initializer: [weight("w", [24, 40]), weight("b", [24])],
    input: [info("x", [16, 40])],
    output: [info("y", [16, 24])],
  });
  expect(prepare.length).toBeGreaterThan(0);
  for (const { action } of prepare)
    if (action.kind === "launch")
      expect(action.launch.reads.some(({ buffer }) => buffer.kind === "input")).toBe(false);
  expect(familiesOf(steps).filter((family) => family.startsWith("gemm"))).toHaveLength(1);
  expect(buffers.map(({ id }) => id)).toEqual(buffers.map((_, index) => index));
});
