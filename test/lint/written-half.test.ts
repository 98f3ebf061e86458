/** Half precision as it is written: what lint says of it takes no weights, and fails no model that half fails on. */
import { expect, test } from "vitest";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { lint } from "../../src/api/lint.ts";

/** Four products in a row, of FP32 weights that are in no file. */
function chain(graph: GraphBuilder): void {
  let x = graph.input("x", [4096, 4096]);
  for (let layer = 0; layer < 4; layer++) x = graph.node("MatMul", [x, graph.weight([4096, 4096])]);
  graph.output(x);
}

const stepOf = (account: Awaited<ReturnType<typeof lint>>["account"], name: string) =>
  account.find(({ step }) => step === name);

test("what the file takes besides is a step, and half is claimed where the file is sure to gain", async () => {
  const { account, groups } = await lint(model({ name: "chain" }, chain), { stack: "cudnn" });
  const kept = stepOf(account, "kept");
  expect(kept?.saves?.microseconds).toBeLessThan(0);
  expect(kept?.written?.low).toBeGreaterThan(0);
  expect(groups.some(({ code }) => code === "TC201")).toBe(true);
});

test("weights that lie in the model are read no more than those beside it: the account is the same", async () => {
  const width = 256;
  // More than is read of a tensor before a repair is asked for.
  const values = Array.from({ length: width * width }, () => 0.5);
  const accountOf = async (inside: { values?: readonly number[] }) => {
    const built = model({ name: "weights" }, (graph) => {
      let x = graph.input("x", [65_536, width]);
      for (let layer = 0; layer < 8; layer++)
        x = graph.node("MatMul", [x, graph.weight([width, width], inside)]);
      graph.output(x);
    });
    return (await lint(built, { stack: "cudnn" })).account;
  };
  const beside = await accountOf({});
  expect(stepOf(beside, "kept")).toBeDefined();
  expect(await accountOf({ values })).toEqual(beside);
});

test("half that may save nothing once it is written is claimed by nobody", async () => {
  // Casts of so large an input and output take what the product saves.
  const wide = model({ name: "wide" }, (graph) => {
    graph.output(graph.node("MatMul", [graph.input("x", [1_000_000, 64]), graph.weight([64, 64])]));
  });
  const { account, groups, uncertain } = await lint(wide, { stack: "ort-cuda" });
  expect(stepOf(account, "precision")?.saves?.low).toBeGreaterThan(0);
  expect(stepOf(account, "kept")?.written?.low).toBeLessThanOrEqual(0);
  expect(groups.map(({ code }) => code)).not.toContain("TC201");
  expect(uncertain.count).toBeGreaterThan(0);
});

test("of a type that no file of its opset can have, there is no such step", async () => {
  // LpPool is another operator since opset 18.
  const old = (graph: GraphBuilder) => {
    chain(graph);
    graph.output(graph.node("LpPool", [graph.input("y", [1, 4, 8, 8])], { kernel_shape: [3, 3] }));
  };
  const { account, error } = await lint(model({ name: "old", opset: 12 }, old), {
    stack: "cudnn",
    precision: "bf16",
  });
  expect(error).toBeNull();
  expect(stepOf(account, "precision")).toBeUndefined();
  expect(stepOf(account, "kept")).toBeUndefined();
});
