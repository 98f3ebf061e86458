import { describe, expect, test } from "vitest";
import { bytesOf, headModel, lfsPointer } from "./models.ts";
import { onlyHead, useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const head = () => bench.folder.write("head.onnx", bytesOf(headModel({ rows: "batch" })));

describe("several values of flags", () => {
  test("are a table of all combinations, with a column for what differs", async () => {
    head();
    const { exitCode, stdout, stderr } = await bench.tcLint([
      "head.onnx",
      ...["--gpu", "h200,l4", "--stack", "cudnn", "--dim", "batch=8,4096"],
    ]);
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: "" });
    const [title, facts, , names, ...rows] = stdout.split("\n");
    expect([title, facts]).toEqual(["head.onnx", "  1 node, 206 M parameters; cudnn, fp16; 4 scenarios"]);
    expect(names?.trim().split(/ {2,}/)).toEqual([
      ...["gpu", "batch", "basis", "predicted", "after --fix", "a sample", "Tensor Cores"],
      ...["errors", "warnings", "best step"],
    ]);
    expect(rows.slice(0, 4).map((row) => row.trim().split(/ {2,}/).slice(0, 2))).toEqual([
      ["h200", "8"],
      ["h200", "4096"],
      ["l4", "8"],
      ["l4", "4096"],
    ]);
    expect(stdout).toMatch(/ in 1 model, 4 scenarios/);
    expect(stdout).not.toContain("TC102 misaligned-gemm");
  });

  test("are the same reports as runs of their own, each with its name", async () => {
    head();
    const several = await bench.jsonOf(["head.onnx", "--dim", "batch=8,4096", "--gpu", "l4"]);
    expect(several.models.map(({ scenario, samples }) => [scenario, samples])).toEqual([
      ["batch=8", 8],
      ["batch=4096", 4096],
    ]);
    for (const { scenario: _, samples, ...model } of several.models) {
      const alone = await bench.jsonOf(["head.onnx", "--dim", `batch=${samples}`, "--gpu", "l4"]);
      expect(alone.models).toEqual([model]);
    }
    const { errors, warnings } = several.summary;
    const groups = several.models.flatMap((model) => model.groups);
    expect(errors).toBe(groups.filter(({ severity }) => severity === "error").length);
    expect(warnings).toBe(groups.filter(({ severity }) => severity === "warn").length);
  });

  test("that a model has no place for change nothing about it", async () => {
    head();
    bench.folder.write("fixed.onnx", bytesOf(headModel()));
    const { models } = await bench.jsonOf([".", "--dim", "batch=1,8"]);
    expect(models.map(({ path, scenario }) => [path, scenario])).toEqual([
      ["fixed.onnx", undefined],
      ["head.onnx", "batch=1"],
      ["head.onnx", "batch=8"],
    ]);
  });

  test("show what is found in each with --verbose", async () => {
    head();
    const { stdout } = await bench.tcLint(["head.onnx", "--dim", "batch=8,4096", "--verbose"]);
    expect(stdout).toMatch(/^head\.onnx \(batch=8\)$/m);
    expect(stdout).toMatch(/^head\.onnx \(batch=4096\)$/m);
  });

  test("find an error in one scenario, and add warnings up", async () => {
    head();
    const args = ["head.onnx", ...onlyHead, "--dim", "batch=8,4096", "--error-share", "1"];
    expect((await bench.tcLint([...args, "--max-warnings", "2"])).exitCode).toBe(0);
    expect((await bench.tcLint([...args, "--max-warnings", "1"])).exitCode).toBe(1);
  });

  test("fail once where the file cannot be read, and a scenario alone where its size is wrong", async () => {
    bench.folder.write("a.onnx", lfsPointer);
    const broken = await bench.jsonOf(["a.onnx", "--gpu", "l4,h200"]);
    expect(broken.models.map(({ scenario, error }) => [scenario, error?.code])).toEqual([
      [undefined, "lfs-pointer"],
    ]);
    const skipped = await bench.tcLint(["a.onnx", "--gpu", "l4,h200", "--lfs-pointers", "skip"]);
    expect(skipped.stderr.match(/skipped:/g)).toHaveLength(1);
    head();
    const shape = await bench.tcLint(["head.onnx", "--dim", "batch=8,16", "--shape", "hidden=8,4096"]);
    expect(shape.exitCode).toBe(2);
    expect(shape.stdout).toMatch(/^ {2}error {2}shape-contradiction .* \(batch=16\)$/m);
  });

  test.each([
    [["--gpu", "l4,abacus"], '--gpu: found "abacus", expected one of'],
    [["--stack", "cudnn,"], '--stack: found "", expected one of'],
    [["--precision", "fp16,fp8"], '--precision: found "fp8", expected one of'],
    [["--gpu", "l4,t4,l4"], '--gpu: "l4" is given twice'],
    [["--dim", "batch=8,8"], '--dim batch: "8" is given twice'],
    [
      ["--dim", "batch=9007199254740993"],
      '--dim: found "9007199254740993", expected sizes of at most 9007199254740991',
    ],
    [["--shape", "x=1,9007199254740993"], '--shape: found "9007199254740993", expected sizes of at most'],
    [["--dim", "batch=8,x"], '--dim: found "batch=8,x", expected a dimension\'s name and one or more sizes'],
    [["--dim", `batch=${Array.from({ length: 65 }, (_, size) => size).join(",")}`], "65 combinations"],
    [
      ["--fix", "--gpu", "l4,h200"],
      "--fix: is decided for one target and size, found 2 for head.onnx (l4; h200)",
    ],
    [["--diff", "--dim", "batch=1,8,9"], "found 3 for head.onnx (batch=1; batch=8; batch=9): give --gpu"],
    [["--scenario", "edge"], '--scenario: found "edge", but no configuration has scenarios'],
    [["--scenario", "edge", "--gpu", "l4"], "--scenario: found beside --gpu"],
  ])("%j is refused", async (args, message) => {
    head();
    const { exitCode, stdout, stderr } = await bench.tcLint(["head.onnx", ...args]);
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(message);
  });

  test("a name that the model lacks is an error of the model, with what it has", async () => {
    bench.folder.write("fixed.onnx", bytesOf(headModel()));
    const { exitCode, stdout } = await bench.tcLint(["fixed.onnx", "--dim", "batch=8"]);
    expect(exitCode).toBe(2);
    expect(stdout).toContain(
      'no dimension named "batch"; it has no symbolic ones; input "hidden" [4096,4096] has a fixed first axis of 4096: --fix --batch dynamic names that axis where the graph allows it; else re-export with dynamic_shapes',
    );
  });
});

describe("scenarios of a configuration", () => {
  const configure = () => {
    head();
    bench.folder.write(
      "tc-lint.config.json",
      JSON.stringify({
        dims: { batch: 4 },
        scenarios: [
          { name: "edge", gpu: "orin", stack: "cudnn", precision: "int8" },
          { name: "cloud", gpu: "h100", stack: "tensorrt", dims: { batch: 64 } },
        ],
      }),
    );
  };

  test("are a row each, under their names", async () => {
    configure();
    const { models } = await bench.jsonOf(["head.onnx"]);
    expect(models.map(({ scenario, target, symbols }) => [scenario, target, symbols])).toEqual([
      ["edge", { gpu: "orin", stack: "cudnn", precision: "int8" }, { batch: 4 }],
      ["cloud", { gpu: "h100", stack: "tensorrt", precision: "fp16" }, { batch: 64 }],
    ]);
    const { stdout } = await bench.tcLint(["head.onnx"]);
    expect(stdout).toMatch(/^ {2}scenario +gpu +stack +precision +batch /m);
    expect(stdout).toMatch(/^ {2}cloud +h100 +tensorrt +fp16 +64 /m);
    expect(stdout).toContain("configured by tc-lint.config.json");
  });

  test("are picked by name, which --fix needs", async () => {
    configure();
    const { models } = await bench.jsonOf(["head.onnx", "--scenario", "cloud"]);
    expect(models.map(({ scenario }) => scenario)).toEqual(["cloud"]);
    const all = await bench.tcLint(["head.onnx", "--diff"]);
    expect([all.exitCode, all.stderr]).toEqual([2, expect.stringContaining("name one with --scenario")]);
    const one = await bench.tcLint(["head.onnx", "--diff", "--scenario", "cloud"]);
    expect([0, 1]).toContain(one.exitCode);
  });

  test("stand beside the precision that a fix stores, and give way to it", async () => {
    configure();
    const { models } = await bench.jsonOf(["head.onnx", "--scenario", "edge", "--precision", "fp16"]);
    expect(models.map(({ target }) => target)).toEqual([{ gpu: "orin", stack: "cudnn", precision: "fp16" }]);
  });

  test("of which one alone is a row are no choice to make, and of several those are named that are rows", async () => {
    head();
    const configured = (...scenarios: object[]) =>
      bench.folder.write("tc-lint.config.json", JSON.stringify({ scenarios }));
    const [seq, small, large] = [
      { name: "seq", dims: { nosuch: 5 } },
      { name: "small", dims: { batch: 8 } },
      { name: "large", dims: { batch: 4096 } },
    ];
    configured(seq, large);
    const alone = await bench.tcLint(["head.onnx", "--diff"]);
    expect([alone.exitCode, alone.stdout]).toEqual([1, expect.stringContaining("padded 50257 to")]);
    configured(seq, small, large);
    const several = await bench.tcLint(["head.onnx", "--diff"]);
    expect(several.stderr).toContain("found 2 for head.onnx (small; large): name one with --scenario");
  });

  describe("whose sizes a model has no place for", () => {
    const scenarios = (...listed: object[]) =>
      bench.folder.write("tc-lint.config.json", JSON.stringify({ scenarios: listed }));

    test("make no row of their own, count for nothing, and are named in one note", async () => {
      bench.folder.write("fixed.onnx", bytesOf(headModel()));
      const alone = await bench.jsonOf(["fixed.onnx", "--no-config"]);
      scenarios({ name: "b32", dims: { batch: 32 } }, { name: "b1", dims: { batch: 1 } });
      const { models, summary } = await bench.jsonOf(["fixed.onnx"]);
      expect(models.map(({ scenario }) => scenario)).toEqual([undefined]);
      expect(summary).toEqual(alone.summary);
      const { stdout } = await bench.tcLint(["fixed.onnx"]);
      expect(stdout.match(/no row for scenarios "b32", "b1"/g)).toHaveLength(1);
      expect(stdout).toContain('the model has no dimension named "batch": no row for');
    });

    test("leave the rows of those that it has a place for", async () => {
      head();
      scenarios({ name: "s5", dims: { sequence: 5 } }, { name: "b8", dims: { batch: 8, sequence: 5 } });
      const { models } = await bench.jsonOf(["head.onnx"]);
      expect(models.map(({ scenario, symbols }) => [scenario, symbols])).toEqual([["b8", { batch: 8 }]]);
      expect(models[0]?.notices.map(({ message }) => message)).toContain(
        'the model has no dimension named "sequence": no row for scenario "s5"',
      );
    });

    test("keep a target that no other row is of, at the sizes of the model", async () => {
      bench.folder.write("fixed.onnx", bytesOf(headModel()));
      scenarios(
        { name: "edge", gpu: "orin", dims: { batch: 1 } },
        { name: "cloud", gpu: "h100", dims: { batch: 64 } },
        { name: "night", gpu: "h100", dims: { batch: 128 } },
        { name: "b8", dims: { batch: 8 } },
      );
      const { models } = await bench.jsonOf(["fixed.onnx"]);
      expect(models.map(({ scenario, target: { gpu } }) => [scenario, gpu])).toEqual([
        ["edge", "orin"],
        ["cloud", "h100"],
        ["h200, ort-cuda, fp16", "h200"],
      ]);
      expect(models[0]?.notices.at(-1)?.message).toBe(
        'the model has no dimension named "batch": no row for scenarios "night", "b8"; at the model\'s own sizes: scenarios "edge", "cloud"',
      );
    });

    test("do not take a budget of another target with them", async () => {
      head();
      const budgets = [{ gpu: "l4", maxMicroseconds: 1 }];
      const listed = [
        { name: "s5", dims: { sequence: 5 } },
        { name: "b8", dims: { batch: 8 } },
      ];
      bench.folder.write("tc-lint.config.json", JSON.stringify({ budgets, scenarios: listed }));
      const { models } = await bench.jsonOf(["head.onnx"]);
      expect(models.map(({ scenario, budgets = [] }) => [scenario, budgets.length])).toEqual([["b8", 1]]);
    });

    test("are no comparison of their own", async () => {
      bench.folder.write("fixed.onnx", bytesOf(headModel()));
      scenarios({ name: "b32", dims: { batch: 32 } }, { name: "b1", dims: { batch: 1 } });
      bench.folder.write("before.onnx", bytesOf(headModel({ rows: 2048 })));
      const { stdout } = await bench.tcLint(["compare", "before.onnx", "fixed.onnx", "-f", "json"]);
      const { models } = JSON.parse(stdout);
      expect(models).toHaveLength(1);
      expect(models[0].scenario).toBeUndefined();
      expect(models[0].notices.at(-1)?.code).toBe("scenario-without-place");
    });
  });

  test("give way to flags, which is said", async () => {
    configure();
    const { stdout, stderr } = await bench.tcLint(["head.onnx", "--gpu", "l4", "-f", "json"]);
    const [model, ...more] = JSON.parse(stdout).models;
    expect([model.target.gpu, model.symbols.batch, "scenario" in model, more]).toEqual(["l4", 4, false, []]);
    expect(stderr).toBe("tc-lint: tc-lint.config.json: its scenarios are passed over: --gpu given\n");
  });

  test("are not of commands that have one target", async () => {
    configure();
    const { stdout, stderr } = await bench.tcLint(["bench", "--plan", "head.onnx", "--dim", "batch=1"]);
    expect(stderr).not.toContain("scenario");
    expect(stdout).not.toContain("scenario");
  });

  test("are what print-config shows", async () => {
    configure();
    for (const args of [["print-config"], ["print-config", "head.onnx"]]) {
      const shown = JSON.parse((await bench.tcLint(args)).stdout);
      expect(shown).toMatchObject([
        { scenario: "edge", gpu: "orin", dims: { batch: 4 } },
        { scenario: "cloud", gpu: "h100", dims: { batch: 64 } },
      ]);
    }
  });
});
