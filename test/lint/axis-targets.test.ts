/** One size for an axis that a residual ties, whoever writes or reads it. */
import { expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { lint } from "../../src/index.ts";

/** Blocks of a transformer's MLP, whose residual's first value is an input and whose last one an output: nothing before the one, or behind the other. */
function residualMlp(width: number, hidden: number, blocks: number): Uint8Array {
  return model({ name: "mlp" }, (graph) => {
    let stream = graph.input("x", [197, width], "float16");
    const weight = (...shape: readonly number[]) => graph.weight(shape, { dtype: "float16" });
    for (let block = 0; block < blocks; block++) {
      const normed = graph.node("LayerNormalization", [stream, weight(width), weight(width)]);
      const wide = graph.node("Relu", [graph.node("MatMul", [normed, weight(width, hidden)])]);
      stream = graph.node("Add", [stream, graph.node("MatMul", [wide, weight(hidden, width)])]);
    }
    graph.output(stream, "float16");
  });
}

test.each([
  [770, 3078, 4],
  [766, 3070, 3],
  [1023, 4090, 2],
])("of %i beside %i, in %i blocks", async (width, hidden, blocks) => {
  for (const stack of ["ort-cuda", "tc-runtime", "inductor"] as const) {
    const { findings } = await lint(residualMlp(width, hidden, blocks), { stack, verbose: true });
    const targets = new Map<number, Set<number>>();
    for (const { message } of findings.filter(({ code }) => code === "TC102")) {
      for (const [, from, to] of message.matchAll(/from (\d+) to (\d+)/g))
        targets.set(Number(from), (targets.get(Number(from)) ?? new Set()).add(Number(to)));
    }
    // The runtime packs weights when it loads: by its own planner not every axis gains there.
    if (stack !== "tc-runtime") expect([...targets.keys()].sort((a, b) => a - b)).toEqual([width, hidden]);
    for (const [from, to] of targets) expect([...to], `${from} on ${stack}`).toHaveLength(1);
  }
});
