/** What differs between two models: time, findings, graph, budgets; as the library says it. */
import path from "node:path";
import { describe, expect, test } from "vitest";
import { compareFindings } from "../../src/compare/findings.ts";
import { compare, fix, InputError, lint } from "../../src/index.ts";
import { temporaryFolder } from "../cli/models.ts";
import { writeInline } from "../fix/models.ts";
import { finding, modelReport } from "../report/sample.ts";
import { network } from "./models.ts";

const aligned = network();
const misaligned = network({ widths: [256, 250, 512] });

describe("compare", () => {
  test("says of each what lint says of it, at every target", async () => {
    for (const options of [
      {},
      { gpu: "l4", stack: "tensorrt", precision: "as-is" },
      { gpu: "a100" },
    ] as const) {
      const { base, head, time } = await compare(aligned, misaligned, options);
      const [of, to] = [await lint(aligned, options), await lint(misaligned, options)];
      expect(base?.predicted).toEqual(of.predicted);
      expect(head?.predicted).toEqual(to.predicted);
      expect(time?.microseconds).toBeCloseTo(to.predicted.microseconds - of.predicted.microseconds, 9);
    }
  });

  test("a layer that is misaligned is slower, is a new finding, and the graph says where", async () => {
    const { time, findings, graph, kernels } = await compare(aligned, misaligned, {
      gpu: "h200",
      stack: "cudnn",
    });
    expect(time).toMatchObject({ verdict: "slower" });
    expect(findings.new.map(({ code, node }) => [code, node])).toContainEqual(["TC101", "layer1"]);
    expect(findings.fixed).toEqual([]);
    expect(graph?.tensors).toContainEqual({
      name: "layer1.weight",
      before: "float16[256,256,3,3]",
      after: "float16[250,256,3,3]",
    });
    expect(graph?.nodes).toEqual([]);
    expect(["layer1", "layer2"]).toContain(kernels[0]?.node);
  });

  test("the other way round it is fixed, faster, by the same difference", async () => {
    const options = { gpu: "h200", stack: "cudnn" } as const;
    const there = await compare(aligned, misaligned, options);
    const back = await compare(misaligned, aligned, options);
    expect(back.time?.verdict).toBe("faster");
    expect(back.time?.microseconds).toBeCloseTo(-(there.time?.microseconds ?? 0), 9);
    expect(back.findings.new).toEqual([]);
    expect(back.findings.fixed.map(({ fingerprint }) => fingerprint).sort()).toEqual(
      there.findings.new.map(({ fingerprint }) => fingerprint).sort(),
    );
  });

  test("of a model with itself there is no difference, and every finding is unchanged", async () => {
    const { time, findings, graph, kernels } = await compare(misaligned, misaligned);
    expect(time).toEqual({
      microseconds: 0,
      low: 0,
      high: 0,
      verdict: "same",
      share: 0,
      shareLow: 0,
      shareHigh: 0,
    });
    expect(JSON.stringify(time)).not.toContain("-0");
    expect(kernels).toEqual([]);
    expect(graph).toMatchObject({ nodes: [], tensors: [], interface: [] });
    const { findings: listed } = await lint(misaligned);
    expect(findings).toMatchObject({ new: [], worse: [], fixed: [], eased: [], unchanged: listed });
  });

  test("of a model and its repair is what the repair says, and what the account's step says", async () => {
    using folder = temporaryFolder();
    const file = writeInline(folder.path);
    const output = path.join(folder.path, "fixed.onnx");
    const options = { gpu: "h200", stack: "cudnn", minSaving: 0 } as const;
    const fixed = await fix(file, { ...options, output, verify: false });
    expect(fixed.changed).toBe(true);
    const { base, head, time } = await compare(file, output, options);
    expect(base?.predicted.microseconds).toBeCloseTo(fixed.microseconds?.before ?? 0, 9);
    expect(head?.predicted.microseconds).toBeCloseTo(fixed.microseconds?.after ?? 0, 9);
    const { account } = await lint(file, options);
    const step = account.find((each) => each.step === "safe")?.saves;
    expect(time?.microseconds).toBeCloseTo(-(step?.microseconds ?? 0), 9);
    expect(time?.low).toBeCloseTo(-(step?.high ?? 0), 9);
    expect(time?.high).toBeCloseTo(-(step?.low ?? 0), 9);
  });

  test("kernels that are the same cancel: the interval is far narrower than those of the two times", async () => {
    const { time, base } = await compare(aligned, network({ widths: [256, 256, 520] }));
    const own = (base?.predicted.high ?? 0) - (base?.predicted.low ?? 0);
    expect((time?.high ?? 0) - (time?.low ?? 0)).toBeLessThan(own);
  });

  test("counts Casts and Transposes, and names the nodes that are new", async () => {
    const { graph } = await compare(aligned, network({ detours: true }));
    const of = (op: string) => graph?.operators.find((each) => each.op === op);
    expect(of("Cast")).toEqual({ op: "Cast", base: 0, head: 2, overhead: true });
    expect(of("Transpose")).toEqual({ op: "Transpose", base: 0, head: 2, overhead: true });
    expect(of("Conv")).toEqual({ op: "Conv", base: 3, head: 3, overhead: false });
    const added = graph?.nodes.filter(({ kind }) => kind === "added").map(({ name }) => name);
    expect(added).toEqual(["widen", "turn", "turn back", "narrow"]);
  });

  test("another batch is another input, priced at another size", async () => {
    const { graph, notices } = await compare(network({ batch: "n" }), network({ batch: 8 }), {
      dims: { n: 4 },
    });
    expect(graph?.interface[0]).toEqual({
      name: "image",
      before: "float16[n,64,56,56]",
      after: "float16[8,64,56,56]",
    });
    expect(notices).toEqual([
      { code: "other-sizes", message: "base and head are priced at other sizes (n: 4 → not a symbol)" },
    ]);
  });

  test("a regression is beyond its budget only where all of its interval is", async () => {
    const { time } = await compare(aligned, misaligned);
    const { shareLow = 0, shareHigh = 0, share = 0 } = time ?? {};
    const verdictOf = async (maxRegression: number) => {
      const { budgets = [] } = await compare(aligned, misaligned, {
        budgets: [{ gpu: "h200", maxRegression }],
      });
      expect(budgets).toMatchObject([
        { budget: "maxRegression", limit: maxRegression, predicted: share, low: shareLow, high: shareHigh },
      ]);
      return budgets[0]?.verdict;
    };
    expect(shareLow).toBeGreaterThan(0);
    expect(await verdictOf(shareLow * 0.99)).toBe("exceeded");
    expect(await verdictOf((shareLow + shareHigh) / 2)).toBe("may-exceed");
    expect(await verdictOf(Math.min(1, shareHigh * 1.01))).toBe("kept");
  });

  test("a budget for another GPU holds the difference there", async () => {
    const budgets = [{ gpu: "l4", maxRegression: "1 %" as const, maxMicroseconds: 1 }];
    const { budgets: found } = await compare(aligned, misaligned, { budgets });
    const there = await compare(aligned, misaligned, { gpu: "l4" });
    expect(found).toMatchObject([
      { budget: "maxMicroseconds", predicted: there.head?.predicted.microseconds, verdict: "exceeded" },
      { budget: "maxRegression", predicted: there.time?.share, low: there.time?.shareLow },
    ]);
  });

  test.each<[unknown, RegExp]>([
    [{ gpu: "h2000" }, /options: gpu: found "h2000"/],
    [{ budgetz: [] }, /options: budgetz: unknown key/],
    [{ dims: { nothing: 4 } }, /neither model has an input or a dimension named "nothing"/],
  ])("a wrong option is named: %j", async (options, message) => {
    const failure = await compare(aligned, misaligned, options as object).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(InputError);
    expect(String(failure)).toMatch(message);
  });
});

describe("findings of two models", () => {
  const saving = (microseconds: number) => ({ microseconds, low: 1, high: 100, share: 0.05, of: 100 });
  const at = (severity: "error" | "warn", microseconds: number) =>
    finding({ severity, saves: saving(microseconds), fingerprint: "f" });
  const side = (...findings: readonly ReturnType<typeof finding>[]) => modelReport({ findings });
  const kinds = (base: ReturnType<typeof side>, head: ReturnType<typeof side>) =>
    Object.entries(compareFindings(base, head, { base: new Set(), head: new Set() }))
      .filter(([, list]) => list.length > 0)
      .map(([kind]) => kind);
  const unlisted = (entry: ReturnType<typeof finding>) =>
    modelReport({ findings: [], unlisted: { groups: [], findings: [entry] } });

  test.each([
    [
      "an error that was a warning and costs more is worse",
      side(at("warn", 10)),
      side(at("error", 20)),
      "worse",
    ],
    [
      "an error that was a warning and costs the same is unchanged: the rest got faster",
      side(at("warn", 10)),
      side(at("error", 10)),
      "unchanged",
    ],
    ["a warning that was an error is eased", side(at("error", 20)), side(at("warn", 10)), "eased"],
    ["what is listed now and costs more is worse", unlisted(at("warn", 1)), side(at("warn", 10)), "worse"],
    [
      "what is listed now and costs the same is unchanged",
      unlisted(at("warn", 10)),
      side(at("warn", 10)),
      "unchanged",
    ],
    [
      "what is listed no more, but there, is eased, not fixed",
      side(at("warn", 10)),
      unlisted(at("warn", 1)),
      "eased",
    ],
    [
      "what is at a node of another name is renamed",
      side(at("warn", 10)),
      side(finding({ ...at("warn", 10), node: "n", fingerprint: "g" })),
      "renamed",
    ],
    ["what is not there is fixed", side(at("warn", 10)), side(), "fixed"],
    ["what was not there is new", side(), side(at("warn", 10)), "new"],
  ])("%s", (_, base, head, kind) => {
    expect(kinds(base, head)).toEqual([kind]);
  });

  test("of nodes that both models have, one that is fixed is no excuse for one that is new", () => {
    const [was, is] = [at("warn", 10), finding({ ...at("warn", 10), node: "n", fingerprint: "g" })];
    const names = new Set([was.node, is.node]);
    const { fixed, new: fresh, renamed } = compareFindings(side(was), side(is), { base: names, head: names });
    expect([fixed, fresh, renamed]).toEqual([[was], [is], []]);
  });

  test("one at a renamed node that costs more and is more severe is new", () => {
    const worse = finding({ ...at("error", 20), node: "n", fingerprint: "g" });
    expect(kinds(side(at("warn", 10)), side(worse))).toEqual(["new", "fixed"]);
  });
});
