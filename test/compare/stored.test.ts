/** What two files take as they are stored, and that a repair and its revert are one difference. */
import { describe, expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { compare, lint } from "../../src/index.ts";
import { eachModel, zooModel } from "../zoo.ts";
import { network } from "./models.ts";

function product(dtype: "float32" | "float16", columns = 4096): Uint8Array {
  return model({ name: "product" }, (graph) => {
    const x = graph.input("x", [4096, 1024], dtype);
    graph.output(graph.node("MatMul", [x, graph.weight([1024, columns], { dtype })]), dtype);
  });
}

/** As `--fix --precision fp16` writes it: FP32 at its ends, behind Casts. */
function castProduct(): Uint8Array {
  return model({ name: "product" }, (graph) => {
    const x = graph.input("x", [64, 1024], "float32");
    const half = graph.node("Cast", [x], { to: 10 });
    const y = graph.node("MatMul", [half, graph.weight([1024, 1024], { dtype: "float16" })]);
    graph.output(graph.node("Cast", [y], { to: 1 }), "float32");
  });
}

describe("compare", () => {
  test("of a file and itself in half tells them apart by what they store", async () => {
    const options = { gpu: "h200", stack: "cudnn" } as const;
    const { time, stored, verdict } = await compare(product("float32"), product("float16"), options);
    expect(time?.verdict).toBe("same");
    expect(stored?.time.verdict).toBe("faster");
    expect(verdict).toBe("faster");
    expect(stored?.time.microseconds).toBeCloseTo((stored?.head ?? 0) - (stored?.base ?? 0), 9);
    const asStored = { ...options, precision: "as-is" } as const;
    const { time: alone, stored: none } = await compare(product("float32"), product("float16"), asStored);
    expect(none).toBeNull();
    expect(stored?.time).toEqual(alone);
    expect((await compare(network(), network(), options)).stored).toBeNull();
  });

  test("of two files in the same types says what they take as stored where that is another difference, and is faster only so", async () => {
    const files = [product("float32", 4097), product("float32", 4104)] as const;
    const { time, stored, verdict } = await compare(...files, { gpu: "h200", stack: "cudnn" });
    expect([time?.verdict, stored?.time.verdict, verdict]).toEqual(["faster", "unclear", "unclear"]);
    const [wide, odd] = [files[1], files[0]];
    const back = await compare(wide, odd, { gpu: "h200", stack: "cudnn" });
    expect([back.time?.verdict, back.stored?.time.verdict, back.verdict]).toEqual([
      "slower",
      "unclear",
      "slower",
    ]);
    const difference = (stored?.head ?? 0) - (stored?.base ?? 0);
    expect(stored?.time.microseconds).toBeCloseTo(difference, 9);
    expect(difference < (time?.low ?? 0) || difference > (time?.high ?? 0)).toBe(true);
    // As it is computed, so it is stored.
    const alike = await compare(...files, { gpu: "h200", stack: "cudnn", precision: "fp32" });
    expect(alike.time?.verdict).not.toBe("same");
    expect(alike.stored).toBeNull();
  });

  test("holds a repair in half against what both take as stored, unless a budget names a precision", async () => {
    const files = [
      model({ name: "product" }, (graph) => {
        const x = graph.input("x", [64, 1024], "float32");
        graph.output(graph.node("MatMul", [x, graph.weight([1024, 1024])]), "float32");
      }),
      castProduct(),
    ] as const;
    for (const stack of ["cudnn", "ort-cuda"] as const) {
      const of = { gpu: "h200", maxRegression: "1 %" } as const;
      const stated = { ...of, precision: "fp16" } as const;
      const budgets = [
        of,
        stated,
        { ...of, stack: "inductor" } as const,
        { ...stated, stack: "inductor" } as const,
      ];
      const { time, stored, budgets: found = [] } = await compare(...files, { gpu: "h200", stack, budgets });
      expect(time?.verdict).toBe("slower");
      const held = found.filter(({ target }) => target.stack === stack);
      expect(held.map(({ asStored, predicted }) => [asStored, predicted])).toEqual([
        [true, stored?.time.share],
        [undefined, time?.share],
      ]);
      expect(
        found.filter(({ target }) => target.stack === "inductor").map(({ asStored }) => asStored),
      ).toEqual([true, undefined]);
    }
  });

  test("of two FP32 files always says what they take as stored, within the interval or not", async () => {
    for (const columns of [4000, 4097, 5000, 8192]) {
      const files = [product("float32"), product("float32", columns)] as const;
      const { time, stored, verdict } = await compare(...files, { gpu: "h200", stack: "cudnn" });
      const asStored = await compare(...files, { gpu: "h200", stack: "cudnn", precision: "as-is" });
      expect(stored?.time).toEqual(asStored.time);
      expect(time?.verdict === "slower" ? "slower" : stored?.time.verdict).toBe(verdict);
    }
    const half = [product("float16"), product("float16", 4097)] as const;
    expect((await compare(...half, { gpu: "h200", stack: "cudnn" })).stored).toBeNull();
  });

  test("is as sure of a revert as of the repair", async () => {
    const [base, head] = [network({ widths: [256, 250, 512] }), network()];
    const [repair, revert] = [await compare(base, head), await compare(head, base)];
    expect(revert.time?.low).toBeCloseTo(-(repair.time?.high ?? 0), 9);
    expect(revert.time?.high).toBeCloseTo(-(repair.time?.low ?? 0), 9);
    expect(revert.kernels.length).toBe(repair.kernels.length);
  });
});

describe("a pair with a file that lint tells of as stored", () => {
  eachModel([["tcn", "ort-cuda"]] as const)("says that its findings are of FP16: %s", async (name, stack) => {
    const file = zooModel(name);
    const { notices: ofLint } = await lint(file, { stack });
    expect(ofLint.map(({ code }) => code)).toContain("as-stored");
    const noticesOf = async (precision?: "as-is") =>
      (await compare(file, file, precision === undefined ? { stack } : { stack, precision })).notices;
    const [notice] = (await noticesOf()).filter(({ code }) => code === "told-as-stored");
    expect(notice?.message).toContain("both files as stored");
    expect(await noticesOf("as-is")).toEqual([]);
  });
});
