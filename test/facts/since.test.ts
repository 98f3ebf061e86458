/** Operators at an opset that does not have them: unknown ones, which nothing is priced of. */
import { describe, expect, it } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { lint } from "../../src/api/lint.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { allOps } from "../../src/ops/registry.ts";
import { missingBefore } from "../../src/ops/since.ts";

const sizes = [4, 64, 32, 32] as const;

/** One node of it behind a product, with its output declared, as exporters do. */
const withNode = (opType: string, opset: number) =>
  model({ name: "old", opset }, (graph) => {
    const x = graph.node("Conv", [graph.input("x", sizes), graph.weight([64, 64, 1, 1])]);
    graph.output(graph.node(opType, [x]), "float32", sizes);
  });

const skippedIn = (bytes: Uint8Array) =>
  inferFacts(modelFromBytes(bytes)).skipped.flatMap(({ kind, reason }) =>
    kind === "unknown-operator" ? [reason] : [],
  );

const late = [...allOps()].flatMap(({ domain, type }) => {
  const since = missingBefore(domain, type, 0);
  return since === undefined ? [] : [[type, since] as const];
});

describe("an operator of ai.onnx", () => {
  it.each(late)("%s is none before opset %i", (type, since) => {
    expect(skippedIn(withNode(type, since - 1))).toEqual([
      `unknown operator ${type} at opset ${since - 1}: there since ${since}`,
    ]);
    expect(skippedIn(withNode(type, since))).toEqual([]);
  });

  it.each(["Mish", "Swish", "Gelu", "HardSwish"])("%s takes no time before it is there", async (type) => {
    const since = missingBefore("", type, 0) ?? 0;
    const [old, unknown, there] = await Promise.all(
      [withNode(type, since - 1), withNode("Nonesuch", since - 1), withNode(type, since)].map((bytes) =>
        lint(bytes, { stack: "cudnn", precision: "as-is" }),
      ),
    );
    expect(old?.skipped.map(({ op }) => op)).toEqual([type]);
    expect(old?.predicted.microseconds).toBe(unknown?.predicted.microseconds);
    expect(there?.predicted.microseconds).toBeGreaterThan(old?.predicted.microseconds ?? 0);
    expect(there?.skipped).toEqual([]);
  });

  it("is another domain's, whatever its opset", () => {
    expect(missingBefore("com.microsoft", "Gelu", 1)).toBeUndefined();
    expect(missingBefore("", "LayerNormalization", 11)).toBeUndefined();
  });
});
