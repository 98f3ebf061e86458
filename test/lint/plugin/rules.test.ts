/** @file Rules of plugins among the others: what they may claim, what they see, and what they are held to. */
import { describe, expect, it, test } from "vitest";
import { model } from "../../../fixtures/builder.ts";
import { lint } from "../../../src/api/lint.ts";
import { RuleTester } from "../../../src/api/rule-tester.ts";
import { testModel } from "../../../src/api/test-model.ts";
import { defineRule, type PluginRule } from "../../../src/lint/plugin/rule.ts";
import { zooModel } from "../../zoo.ts";
import { hardSwishModel } from "./models.ts";

const messages = { said: "said of {op}" };
const at = { severity: "warn", messages } as const;
const report = () => ({ message: "said", data: { op: "Mul" } }) as const;

async function findingsOf(rule: PluginRule, bytes: Uint8Array, options: Parameters<typeof lint>[1] = {}) {
  const plugins = [{ name: "tried", rules: [rule] }];
  const { findings, unlisted, predicted, account } = await lint(bytes, {
    plugins,
    rules: { TC: "off" },
    verbose: true,
    ...options,
  });
  return { findings, unlisted: unlisted?.findings ?? [], predicted, account };
}

describe("What findings of a plugin have in common", () => {
  const sized = (shared: "all" | undefined) =>
    defineRule({
      name: "sized",
      severity: "warn",
      messages: { own: "{node} is one", all: "they are several" },
      *check({ products }) {
        for (const at of products) {
          const data = { node: at.node.name };
          yield { at, message: "own", data, ...(shared === undefined ? {} : { shared }) } as const;
        }
      },
    });
  const groupsOf = async (shared: "all" | undefined) => {
    const plugins = [{ name: "tried", rules: [sized(shared)] }];
    return (await lint(zooModel("misaligned_mlp"), { plugins, rules: { TC: "off" } })).groups;
  };

  test("is what is said of them together; each says its own", async () => {
    const apart = await groupsOf(undefined);
    expect(apart.length).toBeGreaterThan(1);
    const [group, ...more] = await groupsOf("all");
    expect(more).toEqual([]);
    expect(group).toMatchObject({ message: "they are several" });
    expect(group?.findings).toHaveLength(apart.length);
  });

  test("is one of the rule's messages", async () => {
    // As a plugin in JavaScript may say.
    const plugins = [{ name: "tried", rules: [sized("none" as "all")] }];
    const asked = lint(zooModel("misaligned_mlp"), { plugins, rules: { TC: "off" } });
    await expect(asked).rejects.toThrow('found the message "none", expected one of own, all');
  });
});

describe("A saving of a plugin", () => {
  const claiming = (microseconds: number, low = microseconds) =>
    defineRule({
      ...at,
      name: "claims",
      match: (p) => p.op("Mul"),
      report,
      cost: () => ({ microseconds, low, high: microseconds }),
    });

  test("is never more than its nodes' kernels take", async () => {
    const { findings, predicted } = await findingsOf(claiming(1e9), hardSwishModel());
    const [finding] = findings;
    expect(finding?.saves?.microseconds).toBeGreaterThan(0);
    expect(finding?.saves?.microseconds).toBeLessThan(predicted.microseconds);
    expect(finding?.saves?.microseconds).toBe(finding?.saves?.of);
  });

  test("that may be nothing, or is below the threshold, is not listed", async () => {
    for (const rule of [claiming(1, -1), claiming(1e-9)]) {
      const { findings, unlisted } = await findingsOf(rule, hardSwishModel());
      expect([findings.length, unlisted.length]).toEqual([0, 1]);
    }
  });

  test("of the same kernels as another's is shared out", async () => {
    const both = [claiming(1e9), { ...claiming(1e9), name: "claims-too" }];
    const plugins = [{ name: "tried", rules: both }];
    const { findings, predicted } = await lint(hardSwishModel(3), {
      plugins,
      rules: { TC: "off" },
      minSaving: 0,
      verbose: true,
    });
    const claimed = findings.reduce((sum, { saves }) => sum + (saves?.microseconds ?? 0), 0);
    expect(findings.length).toBeGreaterThanOrEqual(3);
    expect(claimed).toBeLessThan(predicted.microseconds);
  });

  test("with a fix is what the decision about the model says, and the account has it", async () => {
    const rule = defineRule({
      ...at,
      name: "swish",
      match: (p) => p.op("Mul", { x: p.any(), gate: p.op("HardSigmoid", { x: p.any() }) }, { commute: true }),
      report,
      cost: () => ({ microseconds: 1e9, low: 1e9, high: 1e9 }),
      fix: (match, edits) => edits.replace(match.root, { op: "HardSwish", inputs: [match.value("x")] }),
    });
    const { findings, account } = await findingsOf(rule, hardSwishModel(4));
    const claimed = findings.reduce((sum, { saves }) => sum + (saves?.microseconds ?? 0), 0);
    const safe = account.find(({ step }) => step === "safe");
    expect(findings.map(({ fix }) => fix)).toEqual(["safe", "safe", "safe", "safe"]);
    expect(claimed).toBeCloseTo(safe?.saves?.microseconds ?? 0, 6);
  });

  test("with a fix that is not sure to gain is nobody's to make by hand", async () => {
    const rule = defineRule({
      ...at,
      name: "same",
      match: (p) => p.op("HardSigmoid", { x: p.any() }),
      report,
      cost: (match, cost) => cost.removed(match.root),
      fix: (match, edits) => edits.replace(match.root, { op: "Tanh", inputs: [match.value("x")] }),
    });
    const { findings, unlisted } = await findingsOf(rule, hardSwishModel());
    expect(findings).toEqual([]);
    expect(unlisted.map(({ fix, saves }) => [fix, saves?.low])).toEqual([["none", 0]]);
  });
});

describe("A rule of a plugin", () => {
  test("sees subgraphs, where its fix is not made", async () => {
    const inLoop = model({ name: "loop" }, (graph) => {
      const x = graph.input("x", [1, 64, 56, 56]);
      const body = graph.inner("body");
      body.input("i", [], "int64");
      const condition = body.input("going", [], "bool");
      const carried = body.input("carried", [1, 64, 56, 56]);
      const still = body.node("Identity", [condition], {}, { outputs: ["still"] });
      const gate = body.node("HardSigmoid", [carried], { alpha: { float: 1 / 6 } });
      const out = body.node("Mul", [carried, gate], {}, { name: "inner_mul", outputs: ["out"] });
      body.output(still, "bool", []);
      body.output(out, "float32", [1, 64, 56, 56]);
      const trips = graph.weight([], { dtype: "int64", values: [4] });
      const on = graph.weight([], { dtype: "bool", values: [1] });
      graph.node("Loop", [trips, on, x], { body: { graph: body } }, { name: "loop", outputs: ["y"] });
      graph.output("y", "float32", [1, 64, 56, 56]);
    });
    const rule = defineRule({
      ...at,
      name: "swish",
      match: (p) => p.op("HardSigmoid").then("Mul"),
      report,
      cost: (_match, cost) => cost.fused(),
      fix: (match, edits) => edits.replace(match.root, { op: "HardSwish", inputs: [match.root.inputs[0]] }),
    });
    const { findings } = await findingsOf(rule, inLoop);
    expect(findings.map(({ node, fix, graph }) => [node, fix, graph])).toEqual([
      ["inner_mul", "none", "graph/loop:body"],
    ]);
  });

  test("may look at the model itself, as the built-in ones do", async () => {
    const rule = defineRule({
      ...at,
      name: "looks",
      *check(context) {
        for (const scope of context.facts.scopes())
          for (const node of scope.graph.nodes)
            yield { at: { node, scope }, message: "said", data: { op: node.opType } };
      },
    });
    const { findings } = await findingsOf(rule, hardSwishModel());
    expect(findings.map(({ message }) => message)).toEqual(["said of HardSigmoid", "said of Mul"]);
  });

  test("may describe other work, and is priced by the cost model", async () => {
    const rule = defineRule({
      ...at,
      name: "narrower",
      match: (p) => p.op("MatMul", { x: p.any(), w: p.const() }),
      report,
      cost(match, cost) {
        const work = cost.workOf(match.root);
        return work?.kind === "gemm" ? cost.becomes(match.nodes, { ...work, n: work.n / 2 }) : undefined;
      },
    });
    const product = model({ name: "product" }, (graph) => {
      const x = graph.input("x", [4096, 4096], "float16");
      graph.node("MatMul", [x, graph.weight([4096, 4096], { dtype: "float16" })], {}, { outputs: ["y"] });
      graph.output("y", "float16", [4096, 4096]);
    });
    const { findings, predicted } = await findingsOf(rule, product);
    const part = (findings[0]?.saves?.microseconds ?? 0) / predicted.microseconds;
    expect(part).toBeGreaterThan(0.35);
    expect(part).toBeLessThan(0.6);
  });

  test("costs nothing where there is none", async () => {
    const [without, empty] = await Promise.all([
      lint(hardSwishModel(2)),
      lint(hardSwishModel(2), { plugins: [{ name: "none", rules: [] }] }),
    ]);
    expect(empty).toEqual(without);
  });
});

describe("RuleTester", () => {
  const rule = defineRule({
    name: "no-sigmoid-chain",
    severity: "warn",
    messages: { twice: "a Sigmoid of a Sigmoid" },
    match: (p) => p.op("Sigmoid", { y: p.op("Sigmoid", { x: p.any() }) }),
    cost: (match, cost) => cost.removed(match.root),
  });
  const sigmoids = (count: number) =>
    testModel({
      inputs: { v0: ["float32", ["N", 64, 56, 56]] },
      nodes: Array.from({ length: count }, (_, index) => ({
        op: "Sigmoid",
        inputs: [`v${index}`],
        outputs: [`v${index + 1}`],
      })),
      outputs: { [`v${count}`]: ["float32", ["N", 64, 56, 56]] },
    });

  // Registers its own tests, as a plugin's author has them.
  void new RuleTester({ describe, it }).run(rule, {
    valid: [{ name: "one", model: sigmoids(1) }],
    invalid: [
      {
        name: "two",
        model: sigmoids(2),
        findings: [{ node: "Sigmoid(v2)", op: "Sigmoid", message: "a Sigmoid of a Sigmoid", fix: "none" }],
      },
      { name: "three, at another size", model: sigmoids(3), options: { dims: { N: 8 } }, findings: 2 },
    ],
  });

  test("says all that failed", async () => {
    const run = new RuleTester().run(rule, {
      valid: [{ model: sigmoids(2) }, { model: "absent.onnx" }],
      invalid: [{ model: sigmoids(2), findings: [{ message: "another" }] }],
    });
    await expect(run).rejects.toThrow(
      /^no-sigmoid-chain: 3 of 3 failed\nleaves valid\[0\]: expected 0 findings, found 1:[\s\S]*absent\.onnx[\s\S]*expected \{"message":"another"\}, found:/,
    );
  });
});
