/** @file Models and a plugin that tests of rules of one's own share. */
import { model } from "../../../fixtures/builder.ts";

/** x · HardSigmoid(x), `times` over, as exporters of mobile networks write HardSwish. */
export function hardSwishModel(times = 1, alpha = 1 / 6): Uint8Array {
  return model({ name: "hard-swish" }, (graph) => {
    let x = graph.input("x", [1, 16, 56, 56]);
    for (let layer = 0; layer < times; layer++) {
      const gate = graph.node("HardSigmoid", [x], { alpha: { float: alpha } }, { name: `gate_${layer}` });
      x = graph.node(
        "Mul",
        [x, gate],
        {},
        { name: `mul_${layer}`, outputs: [layer === times - 1 ? "y" : `sum_${layer}`] },
      );
    }
    graph.output("y", "float32", [1, 16, 56, 56]);
  });
}

/** As a user has it: a file that imports what it is written with from tc-lint. */
export const acme = `import { definePlugin, defineRule } from "tc-lint/rules";

const hardSwish = defineRule({
  name: "written-hard-swish",
  severity: "warn",
  description: "HardSwish that is written as two nodes",
  messages: { written: "HardSwish is written as {nodes} nodes" },
  match: (p) =>
    p.op("Mul", {
      x: p.any(),
      gate: p.op("HardSigmoid", { x: p.any() }, { as: "gate", only: true, attributes: { alpha: 1 / 6 } }),
    }, { commute: true }),
  report: (match) => ({ message: "written", data: { nodes: match.nodes.length } }),
  cost: (match, cost) => cost.fused(),
  fix: (match, edits) => edits.replace(match.root, { op: "HardSwish", inputs: [match.value("x")] }),
});

export default definePlugin({ name: "acme", rules: [hardSwish] });
`;
