/** What a stack's user sets, and no file has: a note beside the account. */
import { afterAll, describe, expect, it } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { lint } from "../../src/api/lint.ts";
import { stackIds } from "../../src/hardware/stacks.ts";
import { duration } from "../../src/ir/format.ts";
import { temporaryFolder } from "../cli/models.ts";
import { eachModel, zooModel } from "../zoo.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

type Report = Awaited<ReturnType<typeof lint>>;
const noteOf = ({ notices }: Report, code: string) => notices.find((each) => each.code === code)?.message;

function layers(graph: GraphBuilder, dtype: "float32" | "float16"): string {
  let h = graph.input("x", [512, 1024], dtype);
  for (let layer = 0; layer < 3; layer++)
    h = graph.node("Relu", [graph.node("MatMul", [h, graph.weight([1024, 1024], { dtype })])]);
  return h;
}

const written = (
  name: string,
  build: (graph: GraphBuilder) => string,
  dtype: "float32" | "float16" = "float32",
) =>
  folder.write(
    `${name}.onnx`,
    model({ name, opset: 17 }, (graph) => graph.output(build(graph), dtype)),
  );

const stored = written("stored", (graph) => layers(graph, "float32"));
const halved = written("halved", (graph) => layers(graph, "float16"), "float16");

describe("half by a flag", () => {
  it("is told of files in FP32, in the half that is asked for, on the stack that has the flag", async () => {
    expect(noteOf(await lint(stored, { stack: "tensorrt" }), "half-by-flag")).toContain("trtexec --fp16");
    const inBf16 = await lint(stored, { stack: "tensorrt", precision: "bf16" });
    expect(noteOf(inBf16, "half-by-flag")).toContain("trtexec --bf16");
    expect(
      noteOf(await lint(stored, { stack: "tensorrt", precision: "tf32" }), "half-by-flag"),
    ).toBeUndefined();
    expect(noteOf(await lint(halved, { stack: "tensorrt" }), "half-by-flag")).toBeUndefined();
    for (const stack of stackIds.filter((id) => id !== "tensorrt"))
      expect(noteOf(await lint(stored, { stack }), "half-by-flag")).toBeUndefined();
  });
});

describe("TF32 by a setting", () => {
  eachModel(["whisper_encoder", "vit_tiny"])("%s: takes what --precision tf32 tells", async (name) => {
    const half = await lint(zooModel(name), { stack: "inductor" });
    const inTf32 = await lint(zooModel(name), { stack: "inductor", precision: "tf32" });
    const step = inTf32.account.find((each) => each.step === "precision");
    expect(step?.saves?.low).toBeGreaterThan(0);
    const note = noteOf(half, "tf32-by-setting");
    expect(note).toContain(`→ ${duration(step?.microseconds ?? Number.NaN)} (saves `);
    expect(note).toContain("set_float32_matmul_precision");
    expect(noteOf(inTf32, "tf32-by-setting")).toContain("set_float32_matmul_precision");
  });

  it("is told of nothing that is stored in half, and where TF32 is the default", async () => {
    expect(noteOf(await lint(halved, { stack: "inductor" }), "tf32-by-setting")).toBeUndefined();
    expect(noteOf(await lint(stored, { stack: "ort-cuda" }), "tf32-by-setting")).toBeUndefined();
  });
});

describe("control flow", () => {
  const branches = written("branches", (graph) => {
    const x = layers(graph, "float32");
    const branch = (name: string) => {
      const inner = graph.inner(name);
      inner.output(inner.node("Relu", [x]));
      return { graph: inner };
    };
    return graph.node("If", [graph.input("c", [], "bool")], {
      then_branch: branch("then"),
      else_branch: branch("else"),
    });
  });

  it("is in no CUDA graph of ONNX Runtime, which its report says", async () => {
    for (const stack of ["ort-cuda", "ort-cuda-nhwc"] as const) {
      expect(noteOf(await lint(branches, { stack }), "no-cuda-graph")).toMatch(
        /\(If\) is control flow.*enable_cuda_graph/,
      );
      expect(noteOf(await lint(stored, { stack }), "no-cuda-graph")).toBeUndefined();
    }
    expect(noteOf(await lint(branches, { stack: "inductor" }), "no-cuda-graph")).toBeUndefined();
  });
});
