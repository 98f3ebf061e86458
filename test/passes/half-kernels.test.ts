/** What is brought to half runs: on a stack that has kernels in it for some operators alone, the others stay FP32. */
import { describe, expect, it, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { runPasses } from "../../src/fix/pipeline.ts";
import { hasKernel, type StackId, stackIds, stacks } from "../../src/hardware/stacks.ts";
import { operatorOf } from "../../src/ir/model.ts";
import { modelFromBytes, type OpenModel, openModel } from "../../src/onnx/open.ts";
import { findOp } from "../../src/ops/registry.ts";
import { align } from "../../src/passes/align/align.ts";
import { half } from "../../src/passes/half/half.ts";
import { raiseOpset } from "../../src/passes/half/raise-opset.ts";
import { dtypeIn } from "../../src/passes/half/slots.ts";
import { settingsFor } from "../fix/models.ts";
import { eachModel, zooModel } from "../zoo.ts";

const partial = stackIds.filter((id) => stacks[id].inPart.bf16 !== undefined);

function inBfloat16(before: OpenModel, stack: StackId) {
  const own = settingsFor([raiseOpset, half]);
  return runPasses(before, {
    ...own,
    target: { ...own.target, stack: stacks[stack], precision: "bf16" },
    options: { ...own.options, halfType: "bfloat16" },
  });
}

/** Operators with a BF16 operand, of every instance of every graph. */
function* operatorsIn(after: OpenModel) {
  for (const scope of inferFacts(after).scopes()) {
    for (const node of scope.graph.nodes) {
      if (scope.children.has(node) || node.opType === "Constant") continue;
      const opset = scope.opsets.get(node.domain) ?? 1;
      if ([...node.inputs, ...node.outputs].some((value) => dtypeIn(value, scope) === "bfloat16"))
        yield { node, opset };
    }
  }
}

describe.each(partial)("in BF16 for %s", (stack) => {
  eachModel(["crnn", "seg_unet", "mobilenetv3_small", "bert", "sd_unet", "tcn", "gpt2_dynamo", "llama"])(
    "%s has no operator without a kernel",
    (name) => {
      using before = openModel(zooModel(name));
      const { model: after, notes } = inBfloat16(before, stack);
      const found = [...operatorsIn(after)].filter(
        ({ node, opset }) => !hasKernel(stacks[stack], "bf16", node, opset),
      );
      expect(found.map(({ node }) => operatorOf(node))).toEqual([]);
      const kept = notes.filter(({ message }) => message.includes(`${stack} has no BF16 kernel of `));
      expect(kept.every(({ kind }) => kind === "kept")).toBe(true);
    },
  );

  it("leaves a file alone whose products have none, in the opset that it has", () => {
    const bytes = model({ name: "recurrent", opset: 17 }, (graph) => {
      const [x, w, r] = [
        graph.input("x", [32, 4, 128]),
        graph.weight([1, 512, 128]),
        graph.weight([1, 512, 128]),
      ];
      graph.output(graph.node("LSTM", [x, w, r], { hidden_size: 128 }));
    });
    const { changed, notes } = inBfloat16(modelFromBytes(bytes), stack);
    expect(changed).toBe(false);
    expect(notes.map(({ message }) => message)).toContainEqual(expect.stringContaining(stack));
  });
});

describe("padding of a file stored in BF16", () => {
  const bytes = model({ name: "rows", opset: 22 }, (graph) => {
    const [x, w] = [
      graph.input("x", [4096, 1001], "bfloat16"),
      graph.weight([1001, 4096], { dtype: "bfloat16" }),
    ];
    graph.output(graph.node("MatMul", [x, w]), "bfloat16");
  });
  const padded = (stack: StackId) => {
    const own = settingsFor([align]);
    return runPasses(modelFromBytes(bytes), {
      ...own,
      target: { ...own.target, stack: stacks[stack], precision: "bf16" },
    });
  };

  it.each(partial)("puts no Pad at an input on %s, which would not run it", (stack) => {
    expect(padded("cudnn").changed).toBe(true);
    const { model: after, changed } = padded(stack);
    expect(changed).toBe(false);
    expect(
      [...operatorsIn(after)].every(({ node, opset }) => hasKernel(stacks[stack], "bf16", node, opset)),
    ).toBe(true);
  });
});

test("operators of the tables are operators that are known", () => {
  for (const { inPart } of Object.values(stacks))
    for (const name of Object.values(inPart).flatMap((since) => Object.keys(since))) {
      const [type = "", domain = ""] = name.split("::").reverse();
      expect(findOp(domain, type), name).toBeDefined();
    }
});
