import { mkdirSync } from "node:fs";
import path from "node:path";
import onnxProto, { type onnx as types } from "onnx-proto";
import { describe, expect, test } from "vitest";
import { bytesOf, cleanModel, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

describe("failures", () => {
  const failures: readonly (readonly [what: string, args: readonly string[], stderr: RegExp])[] = [
    [
      "an unknown flag",
      ["a.onnx", "--max-warning", "3"],
      /tc-lint: Unknown argument: max-warning; did you mean --max-warnings\?/,
    ],
    [
      "a mistyped command",
      ["explian", "TC101"],
      /"explian" is neither a command nor a file; did you mean "explain"\?/,
    ],
    ["no model", [], /no model given/],
    [
      "a bad count",
      ["a.onnx", "--max-warnings", "few"],
      /--max-warnings: found "few", expected a whole number/,
    ],
    ["a flag without its value", ["a.onnx", "--gpu"], /gpu/],
    [
      "a flag given twice",
      ["a.onnx", "--gpu", "h200", "--gpu", "l4"],
      /--gpu: given more than once.*; several are written --gpu h200,l4/,
    ],
    [
      "a switch with a value, which might write what was to be shown",
      ["--fix", "--diff=yes", "a.onnx"],
      /--diff: takes no value, found "yes"; --no-diff switches it off/,
    ],
    [
      "a switch that is off twice",
      ["--no-verify=1", "--fix", "a.onnx"],
      /--verify: takes no value, found "1"/,
    ],
    ["rules that exclude each other", ["a.onnx", "--select", "TC1", "--ignore", "TC1"], /leave no rule/],
    ["too few arguments", ["merge-reports"], /merge-reports: expected 1 argument, found 0/],
    [
      "a choice that is none",
      ["a.onnx", "--fix", "--layout", "nchw"],
      /--layout: found "nchw", expected one of nhwc/,
    ],
    ["a shell that is none", ["completion", "cmd"], /shell: found "cmd", expected one of bash, zsh, fish/],
    ["an unknown GPU", ["a.onnx", "--gpu", "h20"], /--gpu: found "h20", expected one of .*h200/],
    ["an unknown format", ["a.onnx", "-f", "xml"], /--format: found "xml", expected one of text, json/],
    ["two reports on stdout", ["a.onnx", "-f", "json", "-f", "sarif"], /json and sarif cannot share stdout/],
    ["two reports in one file", ["a.onnx", "-f", "json=x", "-f", "sarif=x"], /cannot both be written to "x"/],
    ["an unknown rule", ["a.onnx", "--select", "TC777"], /--select: "TC777" is no rule/],
    ["an empty folder", ["empty"], /"empty": no \.onnx file there/],
    ["a pattern without matches", ["*.bin"], /"\*\.bin": no \.onnx file there/],
    [
      "a configuration that is not there",
      ["a.onnx", "--config", "no.json"],
      /no\.json: no such configuration file/,
    ],
    ["an unknown rule to explain", ["explain", "TC1O1"], /"TC1O1" is no rule; did you mean "TC101"\?/],
    ["an unwritable report", ["a.onnx", "-o", "a.onnx/report"], /a\.onnx\/report: "a\.onnx" is no folder/],
  ];

  test.each([
    [["-f", "blob=x.blob"]],
    [["-f", "json=x.json"]],
    [["-f", "sarif=x.sarif", "-f", "junit=x.xml"]],
    [["-f", "csv"]],
    [["--fix", "-f", "json=x.json"]],
  ])("a model that %j says nothing of on stdout is named on stderr, once", async (args) => {
    const one = await bench.tcLint(["gone.onnx", ...args]);
    expect({ exitCode: one.exitCode, stderr: one.stderr }).toEqual({
      exitCode: 2,
      stderr: "tc-lint: gone.onnx: no such file\n",
    });
  });

  test("models that fail are counted on stderr, where no report on stdout says it", async () => {
    const two = await bench.tcLint(["gone.onnx", "lost.onnx", "--gpu", "l4,h200", "-f", "json=x.json"]);
    expect(two).toMatchObject({
      exitCode: 2,
      stdout: "",
      stderr: "tc-lint: gone.onnx: no such file; and 1 more model failed\n",
    });
    for (const format of ["text", "json", "sarif", "github", "agent"])
      expect(await bench.tcLint(["gone.onnx", "-f", format])).toMatchObject({ exitCode: 2, stderr: "" });
  });

  test.each(failures)("%s exits with 2 and says so", async (_, args, expected) => {
    bench.folder.write("a.onnx", bytesOf(cleanModel()));
    bench.folder.write("empty/readme.md", "");
    const { exitCode, stdout, stderr } = await bench.tcLint(args);
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(expected);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  test("a model that is not there, or is none, has its error in the report", async () => {
    bench.folder.write("text.onnx", "this is text");
    const { exitCode, stdout, stderr } = await bench.tcLint(["text.onnx", "gone.onnx"]);
    expect([exitCode, stderr]).toEqual([2, ""]);
    expect(stdout).toContain("error not-onnx  text.onnx: is text");
    expect(stdout).toContain("error not-found  gone.onnx: no such file");
    expect(stdout).toContain("2 models failed");
  });

  /** relu(x), beside a node whose output nobody takes. */
  function besideRelu(node: types.INodeProto): Uint8Array {
    const tensor = (name: string) => ({
      name,
      type: { tensorType: { elemType: 1, shape: { dim: [2, 3, 4, 5].map((size) => ({ dimValue: size })) } } },
    });
    return bytesOf({
      irVersion: 8,
      opsetImport: [{ domain: "", version: 17 }],
      graph: {
        name: "g",
        node: [
          { name: "odd", input: ["x"], output: ["unused"], ...node },
          { name: "relu", opType: "Relu", input: ["x"], output: ["y"] },
        ],
        input: [tensor("x")],
        output: [tensor("y")],
      },
    });
  }

  const broken: readonly (readonly [what: string, node: types.INodeProto, said: RegExp])[] = [
    [
      "a perm of too many axes",
      { opType: "Transpose", attribute: [{ name: "perm", type: 7, ints: [0, 1, 2, 3, 0, 1, 2, 3] }] },
      /node "odd" \(Transpose\): perm \[.*\] does not order the axes of a tensor of rank 4/,
    ],
    [
      "an equation that is not there",
      { opType: "Einsum" },
      /node "odd" \(Einsum\): the attribute equation is missing/,
    ],
    [
      "an equation that is too long",
      { opType: "Einsum", attribute: [{ name: "equation", type: 3, s: Buffer.from("i".repeat(540_000)) }] },
      /node "odd" \(Einsum\): the attribute equation is too long: it has 540000 bytes, and at most 65536 are read/,
    ],
    [
      "an equation that is a number",
      { opType: "Einsum", attribute: [{ name: "equation", type: 2, i: 7 }] },
      /node "odd" \(Einsum\): the attribute equation is no text/,
    ],
  ];
  test.each(broken)("%s fails in a plan as it does in lint and in a fix", async (_, node, said) => {
    bench.folder.write("a.onnx", besideRelu(node));
    for (const args of [[], ["--diff"], ["bench", "--plan"], ["bench", "--plan", "--no-fix"]]) {
      const { exitCode, stdout, stderr } = await bench.tcLint([...args, "a.onnx"]);
      expect([exitCode, stdout + stderr]).toEqual([2, expect.stringMatching(said)]);
    }
  });

  test.each(["9007199254740993", "-9223372036854775807"])("a size of %s keeps its digits", async (size) => {
    const type = { tensorType: { elemType: 1, shape: { dim: [{ dimValue: size }] } } };
    const model = { irVersion: 8, graph: { name: "g", input: [{ name: "x", type }] } };
    // Of text it makes 64 bits, which a number has not.
    bench.folder.write("a.onnx", bytesOf(onnxProto.onnx.ModelProto.fromObject(model)));
    const { exitCode, stdout } = await bench.tcLint(["a.onnx"]);
    expect([exitCode, stdout]).toEqual([2, expect.stringContaining(`has size ${size}\n`)]);
  });

  test.each([
    ["lint", []],
    ["diff", ["--diff"]],
  ])(
    "a folder that is called like a model fails alone, as a shell's *.onnx names it: %s",
    async (_, args) => {
      bench.folder.write("a.onnx", bytesOf(headModel()));
      mkdirSync(path.join(bench.folder.path, "empty.onnx"));
      bench.folder.write("full.onnx/b.onnx", bytesOf(headModel()));
      const { exitCode, stdout, stderr } = await bench.tcLint([...args, "a.onnx", "empty.onnx", "full.onnx"]);
      expect(exitCode).toBe(2);
      expect(stdout + stderr).toContain("empty.onnx: is a folder, and no .onnx file is in it");
      expect(stdout).toContain("full.onnx/b.onnx");
      expect(stdout).toMatch(/^a\.onnx$/m);
      const alone = await bench.tcLint([...args, "empty.onnx"]);
      expect([alone.exitCode, alone.stderr]).toEqual([2, expect.stringContaining("no .onnx file there")]);
      const allowed = await bench.tcLint([
        "a.onnx",
        "empty.onnx",
        "--no-error-on-unmatched-pattern",
        "--exit-zero",
      ]);
      expect(allowed.exitCode).toBe(0);
    },
  );

  test("--exit-zero forgives findings, not failures", async () => {
    bench.folder.write("a.onnx", bytesOf(headModel()));
    expect((await bench.tcLint(["a.onnx", "--exit-zero"])).exitCode).toBe(0);
    expect((await bench.tcLint(["a.onnx", "gone.onnx", "--exit-zero"])).exitCode).toBe(2);
  });

  test("--no-error-on-unmatched-pattern has nothing to do", async () => {
    const { exitCode, stdout } = await bench.tcLint([
      "gone.onnx",
      "*.onnx",
      "--no-error-on-unmatched-pattern",
    ]);
    expect([exitCode, stdout]).toEqual([0, "no models\n"]);
  });

  test("a size that the model has no place for is named with those it has", async () => {
    bench.folder.write("a.onnx", bytesOf(headModel({ rows: "rows" })));
    const { exitCode, stdout } = await bench.tcLint(["a.onnx", "--dim", "batch=1"]);
    expect(exitCode).toBe(2);
    expect(stdout).toMatch(/no dimension named "batch"; it has rows/);
  });
});
