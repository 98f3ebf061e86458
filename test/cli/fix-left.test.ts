/** @file What --fix leaves of what rules find, each with its reason. */
import { describe, expect, it } from "vitest";
import { groupBy } from "../../src/ir/group.ts";
import { convolutions, writeInline } from "../fix/models.ts";
import { floats, info, integers, node, type types } from "../onnx/build.ts";
import { noise } from "../passes/folding.ts";
import { zooModel } from "../zoo.ts";
import { validate } from "./fixing.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

/** x [rows,256] → MatMul to `width` → what `behind` says → y [rows,width]. */
function head(
  [rows, width]: readonly [number, number],
  behind: readonly types.INodeProto[] = [],
  last = "y",
): types.IGraphProto {
  return {
    node: [node("MatMul", ["x", "w"], [last], { name: "head" }), ...behind],
    input: [info("x", [rows, 256])],
    output: [info("y", [rows, width])],
    initializer: [floats("w", [256, width], noise(256 * width, 1)), floats("s", [width], noise(width, 2))],
  };
}

const lastAxis = { name: "axes", type: 7, ints: [-1] };

const triangle = head([4096, 515], [node("Trilu", ["h"], ["y"], { name: "triangle" })], "h");

async function fix(graph: types.IGraphProto, ...flags: string[]) {
  writeInline(bench.folder.path, graph, { opsetImport: [{ domain: "", version: 17 }] });
  const args = ["--fix-only", "model.onnx", "--no-color", "--no-verify", ...flags];
  const { stdout: text } = await bench.tcLint(args);
  const { stdout: json } = await bench.tcLint([...args, "-f", "json"]);
  const report: unknown = JSON.parse(json);
  if (!validate(report)) throw new Error(JSON.stringify(validate.errors));
  return { text, left: (report.fixes[0]?.notes ?? []).filter(({ rule }) => rule !== null) };
}

describe("a product that --fix leaves off the multiple", () => {
  it("is blocked by a node, which is named", async () => {
    const { text, left } = await fix(triangle);
    const message = 'blocked: 515: Trilu "triangle" takes a triangle of it';
    expect(left).toEqual([
      {
        pass: "align",
        rule: "TC102",
        kind: "blocked",
        node: "head",
        op: "MatMul",
        graph: "graph",
        message,
        microseconds: expect.any(Number),
      },
    ]);
    expect(text).toContain(`: ${message}\n`);
    expect(text).toMatch(/^ {2}left {3}TC102 "head" \(would save [\d.]+ µs alone\): /m);
  });

  it("would take a Slice that costs more than it saves", async () => {
    const norm = node("LayerNormalization", ["h", "s"], ["y"], { name: "norm" });
    const { left } = await fix(head([512, 61], [norm], "h"), "--min-saving", "0");
    const message =
      'may save nothing with the Slices and Pads that it takes: 61: LayerNormalization "norm" normalizes over it';
    expect(left).toMatchObject([{ rule: "TC102", kind: "kept", node: "head", message }]);
  });

  it("would take a Slice that costs more than it saves, around a norm that is written out", async () => {
    const norm = [
      node("ReduceMean", ["h"], ["mean"], { attribute: [lastAxis] }),
      node("Sub", ["h", "mean"], ["centred"]),
      node("Mul", ["centred", "centred"], ["square"]),
      node("ReduceMean", ["square"], ["variance"], { attribute: [lastAxis] }),
      node("Add", ["variance", "epsilon"], ["safe"]),
      node("Sqrt", ["safe"], ["root"], { name: "root" }),
      node("Div", ["centred", "root"], ["y"]),
    ];
    const graph = head([512, 61], norm, "h");
    const initializer = [...(graph.initializer ?? []), floats("epsilon", [1], [1e-3])];
    const { left } = await fix({ ...graph, initializer }, "--min-saving", "0");
    const message =
      'may save nothing with the Slices and Pads that it takes: 61: LayerNorm written out around Sqrt "root" normalizes over it';
    expect(left).toMatchObject([{ rule: "TC102", kind: "kept", node: "head", message }]);
  });

  it("is blocked by what no Slice does for alone, where a norm needs the true size, too", async () => {
    const norm = node("LayerNormalization", ["h", "s"], ["n"], { name: "norm" });
    const cut = node("Trilu", ["h"], ["y"], { name: "triangle" });
    const graph = head([4096, 515], [norm, cut, node("Relu", ["n"], ["z"])], "h");
    const output = [info("y", [4096, 515]), info("z", [4096, 515])];
    const { left } = await fix({ ...graph, output });
    const message = 'blocked: 515: Trilu "triangle" takes a triangle of it';
    expect(left).toMatchObject([{ rule: "TC102", kind: "blocked", node: "head", message }]);
  });

  it("is blocked along one axis by that axis' blocker alone, where a norm needs the true size of another", async () => {
    const norm = node("LayerNormalization", ["x", "s"], ["n"], { name: "norm" });
    const product = node("MatMul", ["n", "w"], ["h"], { name: "head" });
    const cut = node("Trilu", ["h"], ["y"], { name: "triangle" });
    const { left } = await fix({
      node: [norm, product, cut],
      input: [info("x", [4096, 259])],
      output: [info("y", [4096, 515])],
      initializer: [floats("w", [259, 515], noise(259 * 515, 1)), floats("s", [259], noise(259, 2))],
    });
    const message = 'blocked: 515: Trilu "triangle" takes a triangle of it';
    expect(left).toMatchObject([{ rule: "TC102", kind: "blocked", node: "head", message }]);
  });

  it("would be another function with a Slice, too", async () => {
    const sum = [
      node("ReduceMax", ["h"], ["most"], { name: "most", attribute: [lastAxis] }),
      node("Sub", ["h", "most"], ["less"]),
      node("Exp", ["less"], ["share"]),
      node("ReduceSum", ["share"], ["y"], { name: "sum" }),
    ];
    const graph = head([4096, 515], sum, "h");
    const { left } = await fix({ ...graph, output: [info("y", [1, 1])] });
    const message =
      'blocked: 515: ReduceMax "most" reduces it; with a Slice in front of that, ReduceSum "sum" sums over it, and its padded lanes are not zero';
    expect(left).toMatchObject([{ rule: "TC102", kind: "blocked", node: "head", message }]);
  });

  it("would cost more at an output than it saves", async () => {
    const { text, left } = await fix(head([512, 61]), "--min-saving", "0");
    const message = "the Pad or Slice at an input or output of the model costs more than padding saves";
    expect(left).toMatchObject([{ rule: "TC102", kind: "kept", node: "head", message }]);
    expect(text).toContain(message);
  });

  it("would save less than --min-saving", async () => {
    const { text, left } = await fix(convolutions(), "--min-saving", "90%");
    expect(left.map(({ rule, node: at, kind }) => [rule, at, kind])).toEqual([
      ["TC101", "first", "kept"],
      ["TC101", "second", "kept"],
    ]);
    // Decided in half, told as stored.
    const reason =
      /in FP16 below --min-saving; as stored padding(?: \d+ products together)?, with what it costs around (?:it|them), saves [\d.]+ % of the model's time/;
    for (const { message } of left) expect(message).toMatch(reason);
    expect(text).toMatch(reason);
    expect(text.match(/left {3}TC101 "first", "second"/g)).toHaveLength(1);
  });

  it("is named with its call, where it is a function's: its own name is that of each call", async () => {
    const opsetImport = [
      { domain: "", version: 17 },
      { domain: "own", version: 1 },
    ];
    const called = (name: string, from: string, to: string) => ({
      ...node("Block", [from, "w"], [to], { name }),
      domain: "own",
    });
    const body = [node("MatMul", ["a", "b"], ["c"], { name: "mm" })];
    writeInline(
      bench.folder.path,
      {
        node: [called("b1", "x", "h"), called("b2", "h", "y")],
        input: [info("x", [4096, 515])],
        output: [info("y", [4096, 515])],
        initializer: [floats("w", [515, 515], noise(515 * 515, 1))],
      },
      {
        opsetImport,
        functions: [
          { name: "Block", domain: "own", input: ["a", "b"], output: ["c"], opsetImport, node: body },
        ],
      },
    );
    const { stdout: text } = await bench.tcLint(["--diff", "model.onnx", "--no-color"]);
    expect(text).toContain('left   TC102 "mm" in graph/b1:Block, "mm" in graph/b2:Block');
    const { stdout: json } = await bench.tcLint(["--diff", "model.onnx", "-f", "json"]);
    const places = JSON.parse(json).fixes[0].notes.flatMap(
      ({ rule, graph }: { rule: string | null; graph: string }) => (rule === null ? [] : [graph]),
    );
    expect(places).toEqual(["graph/b1:Block", "graph/b2:Block"]);
    // Lint lists the places of one entry.
    const { stdout: linted } = await bench.tcLint(["model.onnx", "--verbose", "--no-color"]);
    for (const call of ["b1", "b2"])
      expect(linted).toMatch(new RegExp(`^ {9}mm in graph/${call}:Block$`, "m"));
  });

  it("has no NHWC form, where that was asked for and nothing else is to be done", async () => {
    const signal = {
      node: [node("Conv", ["x", "w"], ["y"], { name: "conv" })],
      input: [info("x", [1, 32, 64])],
      output: [info("y", [1, 64, 62])],
      initializer: [floats("w", [64, 32, 3], noise(64 * 32 * 3, 1))],
    };
    const { text } = await fix(signal, "--layout", "nhwc");
    expect(text).toContain("nothing to fix");
    expect(text).toContain("note   1 convolution stays NCHW: 1 spatial axis, expected 2");
  });

  it("is none where nothing runs it: it is computed ahead of time", async () => {
    const large = node("ConstantOfShape", ["rows"], ["filled"], { name: "large" });
    const { left, text } = await fix({
      ...head([1_000_000_000, 63]),
      node: [large, node("MatMul", ["filled", "w"], ["y"], { name: "head" }), node("Relu", ["x"], ["z"])],
      input: [info("x", [8])],
      output: [info("y", [1_000_000_000, 63]), info("z", [8])],
      initializer: [integers("rows", [2], [1_000_000_000, 256]), floats("w", [256, 63], noise(256 * 63, 1))],
    });
    expect(left).toEqual([]);
    expect(text).toContain("nothing to fix");
  });

  it("is not mentioned where its rule is off", async () => {
    const { text, left } = await fix(triangle, "--select", "TC101");
    expect(left).toEqual([]);
    expect(text).not.toContain("left ");
  });

  it("is not there once it is padded", async () => {
    const { left, text } = await fix(convolutions(), "--min-saving", "0");
    expect(left).toEqual([]);
    expect(text).not.toContain("left ");
  });
});

it("what --fix does alike in repeated blocks is one line, with what all of it saves", async () => {
  const { stdout } = await bench.tcLint(["--diff", "--unsafe-fixes", zooModel("llama"), "--no-color"]);
  expect(stdout.match(/^ {2}align .*$/gm)).toEqual([
    expect.stringMatching(/^ {2}align {2}padded 766 to 768 in 3 products, at 2 places, saves [\d.]+ µs$/),
  ]);
});

it("what is left of repeated blocks for one reason is one line, with what all of them would save", async () => {
  const args = ["--diff", zooModel("shufflenet_v2"), "--no-color"];
  const { stdout: text } = await bench.tcLint(args);
  const lines = [...text.matchAll(/^ {2}left {3}(TC\d+) .*?\((?:would save )?([\d.]+) µs .*?\): (.*)$/gm)];
  const reasons = lines.map(([, rule, , why = ""]) => `${rule} ${why.replaceAll(/"[^"]*"/g, '""')}`);
  expect(new Set(reasons).size).toBe(reasons.length);
  expect(reasons.some((why) => /reads its size; the same at \d other nodes$/.test(why))).toBe(true);
  const { stdout: json } = await bench.tcLint([...args, "-f", "json"]);
  const notes: readonly { readonly rule: string | null; readonly microseconds: number }[] =
    JSON.parse(json).fixes[0].notes;
  const sum = notes.reduce((total, { rule, microseconds }) => total + (rule === null ? 0 : microseconds), 0);
  // Each line has three digits.
  const told = lines.reduce((total, [, , microseconds]) => total + Number(microseconds), 0);
  expect(Math.abs(told / sum - 1)).toBeLessThan(5e-3);
});

describe("what a part of a declined repair would save", () => {
  const told = [
    ...["c3d", "crnn", "dlrm", "seg_unet", "siamese"].map((name) => [name, "ort-cuda"] as const),
    ["tcn", "tc-runtime"],
  ] as const;

  it.each(told)("is no more than the reason beside it says of all: %s on %s", async (name, stack) => {
    const { stdout } = await bench.tcLint(["--diff", zooModel(name), "--stack", stack, "--no-color"]);
    let reason = "";
    const lines = [
      ...stdout.matchAll(
        /^ {2}left {3}.* \((?:would save )?([\d.]+) µs (of what padding would save in all|in FP16|alone|in all, each alone)\): (.*)$/gm,
      ),
    ].map(([, part, of, said = ""]) => {
      const why = said === "the same reason" ? reason : said;
      reason = why;
      const [, before, after] = /predicted ([\d.]+) µs → ([\d.]+) µs/.exec(why) ?? [];
      return { part: Number(part), of, why, all: Number(before) - Number(after) };
    });
    expect(lines.length).toBeGreaterThan(0);
    const shared = lines.filter(({ of }) => of === "of what padding would save in all");
    // Both sides of the difference are rounded to three digits.
    for (const [why, parts] of groupBy(shared, (line) => line.why)) {
      const sum = parts.reduce((total, { part }) => total + part, 0);
      expect(Math.abs(sum - (parts[0]?.all ?? 0)), why).toBeLessThanOrEqual(1);
    }
    // Of another type than the reason is told of: it says which.
    for (const { of, why } of lines)
      if (of === "in FP16") expect(why).toContain("in the types that it stores");
  });
});

it("a copy of what has nothing to fix says that it is one", async () => {
  writeInline(bench.folder.path, head([512, 64]), { opsetImport: [{ domain: "", version: 17 }] });
  const { stdout } = await bench.tcLint(["model.onnx", "--fix-output", "copy.onnx", "--no-color"]);
  expect(stdout).toMatch(/^ {2}nothing to fix: copied as it is\n {2}written to copy\.onnx \(/m);
});

/**
 * Convolutions of three spatial axes, which stay NCHW, and a product beside them: in FP32 padding costs at the wide ones about a seventh of the time, and
 * saves a little at the narrow ones.
 */
function losing(): types.IGraphProto {
  const attribute = [{ name: "pads", type: 7, ints: [1, 1, 1, 1, 1, 1] }];
  const weights = (name: string, width: number) =>
    floats(name, [width, width, 3, 3, 3], noise(width * width * 27, 1));
  const pair = (first: string, second: string, from: string, to: string, by: string) => [
    node("Conv", [from, by], [`${first}_y`], { name: first, attribute }),
    node("Relu", [`${first}_y`], [`${first}_z`]),
    node("Conv", [`${first}_z`, by], [to], { name: second, attribute }),
  ];
  return {
    node: [
      ...pair("wide", "wider", "x", "y", "w66"),
      ...pair("narrow", "narrower", "s", "t", "w33"),
      node("MatMul", ["u", "w3"], ["v"], { name: "head" }),
    ],
    input: [info("x", [16, 66, 4, 14, 14]), info("s", [8, 33, 4, 14, 14]), info("u", [128, 256])],
    output: [info("y", [16, 66, 4, 14, 14]), info("t", [8, 33, 4, 14, 14]), info("v", [128, 4001])],
    initializer: [weights("w66", 66), weights("w33", 33), floats("w3", [256, 4001], noise(256 * 4001, 3))],
  };
}

it("a reason that several rules' products have is told once", async () => {
  writeInline(bench.folder.path, losing(), { opsetImport: [{ domain: "", version: 17 }] });
  const asked = ["--stack", "cudnn", "--layout", "nhwc"];
  const { stdout } = await bench.tcLint(["--diff", "model.onnx", ...asked, "--no-color"]);
  const whole = /is predicted to be slower: /g;
  expect(stdout.match(whole)).toHaveLength(1);
  expect(stdout).toMatch(
    /^ {2}left {3}TC101 .*\): .*is predicted to be slower: .*\n {2}left {3}TC102 .*\): the same reason$/m,
  );
  expect(stdout).not.toMatch(/^ {2}note .*is predicted to be slower/m);
});

it.each(["seg_unet", "c3d"])(
  "what is left in NHWC that was asked for is a part of what the reason says, and saves nothing where that costs: %s",
  async (name) => {
    const args = ["--diff", zooModel(name), "--stack", "cudnn", "--layout", "nhwc", "--no-color"];
    const { stdout } = await bench.tcLint(args);
    const lines = [
      ...stdout.matchAll(
        /^ {2}left {3}.* \((.*)\): .*predicted (?:to be slower: )?([\d.]+) µs → ([\d.]+) µs/gm,
      ),
    ];
    expect(lines.length).toBeGreaterThan(0);
    for (const [line, time, before, after] of lines)
      expect(time === "would save nothing", line).toBe(Number(after) >= Number(before));
    expect(stdout).not.toMatch(/\(0 µs|save 0 µs/);
  },
);

it("padding that may save nothing is said to be of several products where these share it, in figures as all others are", async () => {
  const { stdout } = await bench.tcLint(["--diff", zooModel("tcn"), "--gpu", "a100", "--no-color"]);
  const reasons = [...stdout.matchAll(/^ {2}left {3}.*\): (.*predicted to save .*)$/gm)].map(
    ([, why]) => why,
  );
  expect(reasons.length).toBeGreaterThan(0);
  for (const why of reasons)
    expect(why).toMatch(
      /^padding \d+ products together, with what it costs around them, is predicted to save \d*\.?\d*[1-9] µs, and may save nothing: its interval reaches 0$/,
    );
});
