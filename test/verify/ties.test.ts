import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { butFor } from "../../src/ir/otherwise.ts";
import { budgets } from "../../src/verify/index.ts";
import { floats, info, node, type types } from "../onnx/build.ts";
import { Models, pseudo } from "./models.ts";

let models: Models;
beforeAll(async () => {
  models = await Models.create();
});
afterAll(() => models[Symbol.dispose]());

const [rows, columns] = [256, 16];
const axis = (i: number) => [{ name: "axis", type: 2, i }];
const to = (i: number) => [{ name: "to", type: 2, i }];
const int64 = 7;

/** What decides, of `l` [256,16] and a threshold. */
const decisions: Readonly<Record<string, readonly types.INodeProto[]>> = {
  ArgMax: [node("ArgMax", ["l"], ["d"], { attribute: axis(-1) })],
  "ArgMin in another shape and type": [
    node("ArgMin", ["l"], ["kept"], { attribute: [...axis(1), { name: "keepdims", type: 2, i: 1 }] }),
    node("Cast", ["kept"], ["small"], { attribute: to(6) }),
    node("Reshape", ["small", "flat"], ["d"]),
  ],
  TopK: [node("TopK", ["l", "k"], ["v", "d"], { attribute: axis(1) })],
  "TopK along the first axis": [node("TopK", ["l", "k"], ["v", "d"], { attribute: axis(0) })],
  "Greater than one number": [node("Greater", ["l", "zero"], ["d"])],
  "Less than a row": [node("Less", ["l", "row"], ["d"])],
  "Cast to whole numbers": [
    node("Mul", ["l", "many"], ["m"]),
    node("Cast", ["m"], ["d"], { attribute: to(6) }),
  ],
};

/** x → MatMul → + `moved` → the decision. */
function deciding(decision: readonly types.INodeProto[], moved: readonly number[]): types.IGraphProto {
  return {
    node: [node("MatMul", ["x", "w"], ["p"]), node("Add", ["p", "moved"], ["l"]), ...decision],
    input: [info("x", [rows, 8])],
    output: [{ name: "d" }],
    initializer: [
      floats("w", [8, columns], pseudo(8 * columns)),
      floats("moved", [rows, columns], moved),
      floats("zero", [], [0]),
      floats("many", [], [100]),
      floats("row", [columns], pseudo(columns, 3)),
      { name: "k", dims: [1], dataType: int64, int64Data: [3] },
      { name: "flat", dims: [1], dataType: int64, int64Data: [-1] },
    ],
  };
}

const still = new Array<number>(rows * columns).fill(0);

describe.each(Object.entries(decisions))("%s", (_, decision) => {
  const budget = budgets.float16;

  it("may come out otherwise where it is a tie, and that is said", async () => {
    // As far as half precision moves numbers of this size.
    const moved = pseudo(rows * columns, 2).map((value) => 5e-3 * value);
    const original = models.write("a", deciding(decision, still));
    const report = await models.report(original, models.write("b", deciding(decision, moved)), { budget });
    const [output] = report.outputs;
    expect(report).toMatchObject({ same: true, outputs: [{ ties: { unexplained: 0 } }] });
    expect(output?.difference?.mismatches).toBeGreaterThan(0);
    expect(output?.difference?.mismatches).toBeLessThanOrEqual(output?.allowed?.mismatches ?? 0);
    expect(butFor(report.outputs)).toMatch(/^ but for \d+ of \d+ elements of "d"$/);
  });

  it("must not where it is none, however few are", async () => {
    const moved = still.map((value, index) => (index === 37 ? 50 : index === 41 ? -50 : value));
    const original = models.write("a", deciding(decision, still));
    const report = await models.report(original, models.write("b", deciding(decision, moved)), { budget });
    expect(report.same).toBe(false);
    expect(report.outputs[0]?.ties?.unexplained).toBeGreaterThan(0);
  });
});
