/** @file What launches fetch before they wait for those in front: nothing that one of these may write. No GPU takes part. */
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { StructLayout } from "../../../cuda-runtime/ir/param-table.ts";
import { addressesIn } from "../../../cuda-runtime/ir/params.ts";
import { h200, type Launch, type Plan } from "../../../cuda-runtime/ir/step.ts";
import { permuted, type View } from "../../../cuda-runtime/ir/view.ts";
import { convHaloStruct } from "../../../cuda-runtime/kernels/conv-halo/params.table.ts";
import { convTmaStruct } from "../../../cuda-runtime/kernels/conv-tma/params.table.ts";
import { emitGemm } from "../../../cuda-runtime/kernels/gemm/gemm.ts";
import { gemmStruct } from "../../../cuda-runtime/kernels/gemm/params.table.ts";
import { hopperStruct } from "../../../cuda-runtime/kernels/gemm-hopper/params.table.ts";
import { thinStruct } from "../../../cuda-runtime/kernels/gemm-thin/params.table.ts";
import { PlanDraft } from "../../../cuda-runtime/plan/buffers.ts";
import { planModel } from "../../../cuda-runtime/plan/build.ts";
import { PlanEmitter } from "../../../cuda-runtime/plan/emitter.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { openZooModel, sizesFor } from "../../gpu/zoo-models.ts";
import { eachModel, zoo } from "../../zoo.ts";

/** Structs that hold GemmParams among others, by the family whose kernels take them. */
const structs = new Map<string, StructLayout>([
  ["gemm-hopper", hopperStruct],
  ["gemm-thin", thinStruct],
  ["conv-tma", convTmaStruct],
  ["conv-halo", convHaloStruct],
]);

/** Undefined where the launch is of no such product. */
function structOf({ params, kernel }: Launch): StructLayout | undefined {
  if (kernel.kind !== "built") return undefined;
  const isPlain = kernel.family.startsWith("gemm") && params.bytes.length === gemmStruct.bytes;
  const struct = structs.get(kernel.family);
  return struct?.bytes === params.bytes.length ? struct : isPlain ? gemmStruct : undefined;
}

function placeOf(struct: StructLayout, name: string): number {
  const member = struct.members.find((each) => each.name === name);
  if (member === undefined) throw new Error(`${struct.name} has no ${name}`);
  return member.offset;
}

/** What a launch fetches ahead; undefined for nothing. */
function aheadOf(launch: Launch): View | undefined {
  const { params, kernel } = launch;
  const struct = structOf(launch);
  if (struct === undefined) return undefined;
  const product = struct === gemmStruct ? 0 : placeOf(struct, "p");
  const { buffer, byteOffset } = params.bytes;
  const code = new DataView(buffer, byteOffset).getInt32(product + placeOf(gemmStruct, "ahead"), true);
  if (code === 0) return undefined;
  const at = product + placeOf(gemmStruct, code === 1 ? "a" : "b");
  const slot = addressesIn(params).find((each) => each.at === at);
  if (slot === undefined) throw new Error(`${kernel.entry} has no operand ${code}`);
  return slot.view;
}

function launchesIn(steps: Plan["steps"]): Launch[] {
  return steps.flatMap(({ action }) => (action.kind === "launch" ? [action.launch] : []));
}

describe("what is fetched ahead", () => {
  eachModel(["bert", "llama", "resnet50", "sd_unet", "siamese", "whisper_encoder"])(
    "is a constant, by no launch that runs while constants are written: %s",
    (name) => {
      using model = openZooModel(zoo, name);
      const dims = sizesFor(model, name, path.join(zoo, "manifest.json"));
      const plan = planModel({ model, precision: "fp16", dims, weights: weightsOf(model) });
      const ahead = launchesIn(plan.steps).flatMap((launch) => aheadOf(launch) ?? []);
      expect(ahead.length).toBeGreaterThan(3);
      expect(ahead.filter(({ buffer }) => buffer.kind !== "constant")).toEqual([]);
      expect(launchesIn(plan.prepare).flatMap((launch) => aheadOf(launch) ?? [])).toEqual([]);
    },
  );

  test("is neither operand where both change, or neither does", () => {
    for (const [first, second] of [
      ["input", "input"],
      ["weight", "weight"],
      ["input", "weight"],
      ["weight", "input"],
    ] as const) {
      const draft = new PlanDraft();
      const emitter = new PlanEmitter(draft, h200, false);
      const operand = (kind: "input" | "weight", shape: readonly number[]) =>
        kind === "input"
          ? draft.allocate("input", "float16", shape)
          : emitter.constant("float16", shape, new Array(64 * 64).fill(1));
      const [a, b] = [operand(first, [64, 64]), permuted(operand(second, [64, 64]), [1, 0])];
      emitGemm(emitter, { a, b, to: draft.allocate("output", "float16", [64, 64]) });
      const { steps, prepare } = draft.finish();
      const fetched = launchesIn([...prepare, ...steps]).flatMap((launch) => aheadOf(launch) ?? []);
      expect(fetched, `${first} by ${second}`).toHaveLength(first === second ? 0 : 1);
    }
  });
});
