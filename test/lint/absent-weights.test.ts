/** What weights decide that are not there: the note of them says so, where an account was decided without their values. */
import { afterAll, describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { lint } from "../../src/api/lint.ts";
import { temporaryFolder } from "../cli/models.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

const rows = 4096;
const width = 1024;
/** Of which half has no number beside zero. */
const tiny = new Array<number>(width).fill(1e-9);

/** Products, each scaled by small weights; they are in a file that nobody wrote, or here. */
function scaled(values: readonly number[] | undefined): Uint8Array {
  return model({ name: "scaled" }, (graph) => {
    let h = graph.input("x", [rows, width]);
    for (let layer = 0; layer < 4; layer++) {
      const product = graph.node("MatMul", [h, graph.weight([width, width])]);
      h = graph.node("Mul", [product, graph.weight([width], values === undefined ? {} : { values })]);
    }
    graph.output(h);
  });
}

async function told(values: readonly number[] | undefined, stack: "ort-cuda" | "inductor" | "cudnn") {
  const report = await lint(folder.write("scaled.onnx", scaled(values)), { stack });
  const note = report.notices.find(({ code }) => code === "weights-missing")?.message ?? "";
  return { report, note };
}

describe.each(["ort-cuda", "inductor", "cudnn"] as const)("on %s", (stack) => {
  it("says that what half keeps was decided without them, where their values change the account", async () => {
    const without = await told(undefined, stack);
    const here = await told(tiny, stack);
    expect(here.report.account).not.toEqual(without.report.account);
    expect(without.note).toContain("FP16 is told as if all were in its range");
    const report = await lint(folder.write("scaled.onnx", scaled(undefined)), { stack, precision: "bf16" });
    expect(JSON.stringify(report.notices)).not.toContain("in its range");
  });

  it("says nothing of it where the file is asked about as it is stored", async () => {
    const file = folder.write("scaled.onnx", scaled(undefined));
    const { notices } = await lint(file, { stack, precision: "as-is" });
    const message = notices.find(({ code }) => code === "weights-missing")?.message;
    expect(message).toContain("shapes are enough to lint");
    expect(message).not.toContain("half");
  });
});
