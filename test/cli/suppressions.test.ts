/** @file tc-lint-suppressions.json: what is there today is let off, what is new is not. */
import { existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { Ajv } from "ajv";
import AjvDraft04 from "ajv-draft-04";
import addFormats from "ajv-formats";
import { beforeEach, describe, expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { writeInline } from "../fix/models.ts";
import { plain } from "./fixing.ts";
import { useWorkbench } from "./workbench.ts";

const require = createRequire(import.meta.url);
const bench = useWorkbench();
const file = "tc-lint-suppressions.json";
const at = (name: string) => path.join(bench.folder.path, name);
const read = (name = file) => readFileSync(at(name), "utf8");
const countsOf = (text = read()) =>
  Object.entries(JSON.parse(text).models as Record<string, { rules: Record<string, { count: number }> }>).map(
    ([name, { rules }]) => [
      name,
      Object.fromEntries(Object.entries(rules).map(([code, { count }]) => [code, count])),
    ],
  );
const isFile = new Ajv({ strict: true }).compile(require("../../schemas/suppressions.schema.json"));
const isReport = new Ajv({ allowUnionTypes: true }).compile(require("../../schemas/report.schema.json"));
const draft04 = addFormats.default(new AjvDraft04.default({ strict: false, unicodeRegExp: false }));
const isSarif = draft04.compile(require("@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"));

/** Misaligned products of their own inputs, a name each, each with its own N. */
function products(...names: readonly string[]): Uint8Array {
  return model({ name: "products", opset: 17 }, (graph) => {
    for (const [index, name] of names.entries()) {
      const input = graph.input(`x${name}`, ["rows", 4096]);
      const weight = graph.weight([4096, 4097 + 2 * index], { name: `w${name}` });
      graph.output(graph.node("MatMul", [input, weight], {}, { name, outputs: [`y${name}`] }));
    }
  });
}

/** Of which nothing is found. */
function aligned(): Uint8Array {
  return model({ name: "aligned", opset: 17 }, (graph) => {
    const weight = graph.weight([4096, 4096], { name: "w" });
    graph.output(graph.node("MatMul", [graph.input("x", ["rows", 4096]), weight], {}, { name: "a" }));
  });
}

const sized = ["--dim", "rows=4096", "--select", "TC102"];
const run = (...args: string[]) => bench.tcLint([...args, ...sized]);

beforeEach(() => {
  bench.folder.write("m/a.onnx", products("a1", "a2"));
  bench.folder.write("m/b.onnx", products("b1"));
});

describe("--suppress-all", () => {
  test("writes what there is, sorted, by its schema; the next run is clean, a new finding is not", async () => {
    const first = await run("m", "--suppress-all", "--max-warnings", "0");
    expect([first.exitCode, first.stderr]).toEqual([
      0,
      `tc-lint: ${file}: written; it suppresses 3 findings in 2 models\n`,
    ]);
    isFile(JSON.parse(read()));
    expect(isFile.errors).toBeNull();
    expect(countsOf()).toEqual([
      ["m/a.onnx", { TC102: 2 }],
      ["m/b.onnx", { TC102: 1 }],
    ]);
    await expect(read()).toMatchFileSnapshot("__snapshots__/suppressions.json");
    const second = await run("m", "--max-warnings", "0", "-j", "2");
    expect([second.exitCode, second.stderr]).toEqual([0, ""]);
    expect(second.stdout).toContain("no findings in 2 models; 3 suppressed");
    bench.folder.write("m/a.onnx", products("a1", "a2", "a3"));
    const third = await run("m", "--max-warnings", "0", "-f", "json");
    expect(third.exitCode).toBe(1);
    const [a, b] = JSON.parse(third.stdout).models;
    // Which of three is the new one a count does not say: all are shown.
    expect([a.findings.length, a.suppressed, b.findings.length, b.suppressed]).toEqual([3, 0, 0, 1]);
    expect(a.notices).toContainEqual({
      code: "suppressions-exceeded",
      message: `TC102: found 3, and ${file} suppresses 2: all are shown`,
    });
  });

  test("is not needed for what fails nothing, and takes out what is gone", async () => {
    await run("m", "--suppress-all");
    bench.folder.write("m/b.onnx", aligned());
    bench.folder.write("m/a.onnx", products("a2"));
    expect((await run("m", "--suppress-all")).exitCode).toBe(0);
    expect(countsOf()).toEqual([["m/a.onnx", { TC102: 1 }]]);
    const before = read();
    expect((await run("m", "--suppress-all")).stderr).toBe(`tc-lint: ${file}: nothing to change\n`);
    expect(read()).toBe(before);
  });

  test("leaves models alone that the run is not about", async () => {
    await run("m/a.onnx", "--suppress-all");
    await run("m/b.onnx", "--suppress-all");
    expect(countsOf().map(([name]) => name)).toEqual(["m/a.onnx", "m/b.onnx"]);
    expect((await run("m/a.onnx", "--max-warnings", "0")).exitCode).toBe(0);
  });
});

test("--suppress-rule is about its rules only, and refuses one that nobody knows", async () => {
  expect((await run("m", "--suppress-rule", "TC101", "--max-warnings", "0")).exitCode).toBe(1);
  expect(JSON.parse(read())).toEqual({ version: 1, models: {} });
  expect((await run("m", "--suppress-rule", "TC101", "--suppress-rule", "misaligned-gemm")).exitCode).toBe(0);
  expect(countsOf().length).toBe(2);
  const { exitCode, stderr } = await run("m", "--suppress-rule", "misaligned-gem");
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('did you mean "misaligned-gemm"')]);
});

test("at another target no count is lost, and what was not looked at is named", async () => {
  await run("m", "--suppress-all");
  const counts = countsOf();
  const h200 = "h200/ort-cuda/fp16 rows=4096";
  for (const flags of [["--suppress-rule", "TC101"], ["--suppress-all"]]) {
    const { exitCode, stderr } = await run("m", "--gpu", "l4", "--max-warnings", "99", ...flags);
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining(`what was counted at ${h200} stays`)]);
    expect(countsOf()).toEqual(counts);
    await run("m", "--gpu", "l4", "--prune-suppressions");
    expect((await run("m", "--max-warnings", "0")).exitCode).toBe(0);
  }
  const { exitCode, stderr } = await run("m", "--gpu", "h200,l4", "--suppress-all");
  expect([exitCode, stderr]).toEqual([0, expect.not.stringContaining("stays")]);
});

describe("what is found no more", () => {
  beforeEach(async () => {
    await run("m", "--suppress-all");
    bench.folder.write("m/a.onnx", products("a2"));
  });

  test("is named and fails the run, unless it is told to pass", async () => {
    const { exitCode, stdout, stderr } = await run("m");
    expect(exitCode).toBe(2);
    expect(stdout).toContain("2 suppressed");
    expect(stderr).toBe(
      [
        `tc-lint: ${file}: m/a.onnx: TC102: suppresses 2, found 1`,
        `tc-lint: ${file}: suppresses what is found no more; --prune-suppressions takes it out`,
        "",
      ].join("\n"),
    );
    expect((await run("m", "--pass-on-unpruned-suppressions")).exitCode).toBe(0);
    expect((await run("m", "--exit-zero")).exitCode).toBe(2);
  });

  test("is taken out by --prune-suppressions, and nothing else", async () => {
    const { exitCode } = await run("m", "--prune-suppressions");
    expect(exitCode).toBe(0);
    expect(countsOf()).toEqual([
      ["m/a.onnx", { TC102: 1 }],
      ["m/b.onnx", { TC102: 1 }],
    ]);
    expect((await run("m", "--max-warnings", "0")).exitCode).toBe(0);
    bench.folder.write("m/a.onnx", products("a1", "a2"));
    expect((await run("m", "--prune-suppressions", "--max-warnings", "0")).exitCode).toBe(1);
    expect(countsOf()).toContainEqual(["m/a.onnx", { TC102: 1 }]);
  });

  test("is not judged by a run that did not look: another rule, another size, a model that cannot be read", async () => {
    expect((await bench.tcLint(["m", "--dim", "rows=4096", "--select", "TC101"])).exitCode).toBe(0);
    expect((await bench.tcLint(["m", "--dim", "rows=8", "--select", "TC102", "--exit-zero"])).exitCode).toBe(
      0,
    );
    bench.folder.write("m/a.onnx", products("a1", "a2").subarray(0, 60));
    const broken = await run("m", "--prune-suppressions");
    expect([broken.exitCode, broken.stderr]).toEqual([2, `tc-lint: ${file}: nothing to change\n`]);
    expect(countsOf()).toContainEqual(["m/a.onnx", { TC102: 2 }]);
  });
});

describe("what a run only hides", () => {
  const cnn = path.join(import.meta.dirname, "../../fixtures/zoo/misaligned_cnn.onnx");
  const lint = (...args: string[]) => bench.tcLint(["z", "--stack", "cudnn", "--max-warnings", "0", ...args]);
  beforeEach(async () => {
    bench.folder.write("z/cnn.onnx", readFileSync(cnn));
    await lint("--suppress-all");
  });

  // Without TC101 it is TC301 that may save nothing.
  const narrow = [
    ["--min-saving", "20%"],
    ["--select", "TC3"],
    ["--ignore", "TC101"],
  ];
  test.each(narrow)("%s %s calls nothing stale, and takes nothing out", async (...args) => {
    const before = read();
    expect(countsOf()).toEqual([["z/cnn.onnx", { TC101: 1, TC301: 1 }]]);
    const narrowed = await lint(...args);
    expect([narrowed.exitCode, narrowed.stderr]).toEqual([0, ""]);
    for (const action of ["--prune-suppressions", "--suppress-all"]) {
      expect((await lint(...args, action)).exitCode).toBe(0);
      expect(read()).toBe(before);
    }
    expect((await lint()).exitCode).toBe(0);
  });

  test.each([...narrow, ["--gpu", "l4"]])("%s %s loses no model that was moved", async (...args) => {
    renameSync(at("z/cnn.onnx"), at("z/moved.onnx"));
    const before = read();
    const line = `tc-lint: ${file}: "z/cnn.onnx" may be a model of this run, and stays`;
    expect((await lint(...args)).stderr).toContain(line);
    expect((await lint(...args, "--prune-suppressions")).stderr).toContain(line);
    expect(read()).toBe(before);
    const { exitCode, stderr } = await lint();
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('"z/cnn.onnx" is "z/moved.onnx" now')]);
  });

  test("of a baseline of a lower threshold, too, which the file has", async () => {
    await lint("--min-saving", "0.1%", "--suppress-all");
    expect(JSON.parse(read()).models["z/cnn.onnx"].minSaving).toBe(0.001);
    expect(isFile(JSON.parse(read()))).toBe(true);
    const { exitCode, stderr } = await lint();
    expect([exitCode, stderr]).toEqual([0, ""]);
  });

  test("and a rule that the run does not know, of a plugin that it has not", async () => {
    writeFileSync(at(file), read().replace('"TC301"', '"ACME301"'));
    const { exitCode, stderr } = await bench.tcLint([
      "z",
      "--stack",
      "cudnn",
      "--exit-zero",
      "--prune-suppressions",
    ]);
    expect([exitCode, stderr]).toEqual([0, `tc-lint: ${file}: nothing to change\n`]);
  });

  test("is counted by rule in JSON, as its schema has it", async () => {
    const { stdout } = await lint("--min-saving", "20%", "-f", "json");
    const report = JSON.parse(stdout);
    isReport(report);
    expect(isReport.errors).toBeNull();
    expect(report.models[0].belowThreshold).toMatchObject({
      count: 2,
      byRule: { TC101: 1, TC301: 1 },
      hidesFix: true,
    });
  });
});

describe("a model that is moved", () => {
  beforeEach(() => run("m", "--suppress-all"));

  test("is known by its findings, and written by --prune-suppressions", async () => {
    renameSync(at("m"), at("exports"));
    const { exitCode, stderr } = await run("exports", "--max-warnings", "0");
    expect(exitCode).toBe(0);
    expect(stderr).toContain(`tc-lint: ${file}: "m/a.onnx" is "exports/a.onnx" now\n`);
    expect((await run("exports", "--prune-suppressions")).exitCode).toBe(0);
    expect(countsOf().map(([name]) => name)).toEqual(["exports/a.onnx", "exports/b.onnx"]);
    expect((await run("exports", "--max-warnings", "0")).stderr).toBe("");
  });

  test("that is a copy has findings of its own; one that is gone is said to be", async () => {
    bench.folder.write("m/c.onnx", readFileSync(at("m/a.onnx")));
    expect((await run("m", "--max-warnings", "0")).exitCode).toBe(1);
    rmSync(at("m/b.onnx"));
    const { exitCode, stderr } = await run("m/a.onnx");
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining('"m/b.onnx" is not there any more')]);
    await run("m/a.onnx", "--prune-suppressions");
    expect(countsOf().map(([name]) => name)).toEqual(["m/a.onnx"]);
  });
});

test("scenarios are counted together: a place is one finding in however many of them", async () => {
  const scenarios = ["--dim", "rows=4096,8192", "--gpu", "l4,h200", "--select", "TC102"];
  expect((await bench.tcLint(["m", ...scenarios, "--suppress-all"])).exitCode).toBe(0);
  expect(countsOf()).toEqual([
    ["m/a.onnx", { TC102: 2 }],
    ["m/b.onnx", { TC102: 1 }],
  ]);
  expect((await bench.tcLint(["m", ...scenarios, "--max-warnings", "0"])).exitCode).toBe(0);
  const { stdout } = await bench.tcLint(["m", ...scenarios, "--show-suppressed", "-f", "sarif"]);
  const { results } = JSON.parse(stdout).runs[0];
  expect(results.map(({ suppressions }: { suppressions: object[] }) => suppressions)).toEqual([
    [{ kind: "external" }],
    [{ kind: "external" }],
    [{ kind: "external" }],
  ]);
  // One of them alone may find less.
  expect((await run("m", "--gpu", "l4")).exitCode).toBe(0);
});

test("--show-suppressed lists them in JSON and SARIF, as what is switched off elsewhere", async () => {
  await run("m", "--suppress-all");
  const report = await bench.jsonOf(["m", ...sized, "--show-suppressed"]);
  isReport(report);
  expect(isReport.errors).toBeNull();
  const listed = report.models.flatMap(({ suppressions = [] }) => suppressions);
  // Of one model the larger saving comes first, whichever that is.
  expect(listed.map(({ node, by, reason }) => [node, by, reason]).sort()).toEqual(
    ["a1", "a2", "b1"].map((node) => [node, "suppressions", null]),
  );
  const log = JSON.parse((await run("m", "--show-suppressed", "-f", "sarif")).stdout);
  isSarif(log);
  expect(isSarif.errors).toBeNull();
  expect(log.runs[0].results).toHaveLength(3);
  expect(JSON.parse((await run("m", "-f", "sarif")).stdout).runs[0].results).toEqual([]);
});

describe("where the file lies", () => {
  test("beside the configuration, from wherever in the project the run is", async () => {
    bench.folder.write("package.json", "{}");
    bench.folder.write("tc-lint.config.json", "{}");
    await bench.tcLint(["a.onnx", "b.onnx", ...sized, "--suppress-all"], { cwd: at("m") });
    expect(existsSync(at(`m/${file}`))).toBe(false);
    expect(countsOf().map(([name]) => name)).toEqual(["m/a.onnx", "m/b.onnx"]);
    expect((await run("m", "--max-warnings", "0")).exitCode).toBe(0);
    const inside = await bench.tcLint(["a.onnx", ...sized, "--max-warnings", "0"], { cwd: at("m") });
    expect(inside.exitCode).toBe(0);
  });

  test("where it is named; a model's own folder is not looked into", async () => {
    await run("m", "--suppress-all", "--suppressions-location", `m/${file}`);
    expect(countsOf(read(`m/${file}`)).map(([name]) => name)).toEqual(["a.onnx", "b.onnx"]);
    expect((await run("m", "--max-warnings", "0")).exitCode).toBe(1);
    expect((await run("m", "--max-warnings", "0", "--suppressions-location", `m/${file}`)).exitCode).toBe(0);
  });

  test("nowhere, with --no-suppressions-location", async () => {
    await run("m", "--suppress-all");
    expect((await run("m", "--max-warnings", "0", "--no-suppressions-location")).exitCode).toBe(1);
  });
});

test("hooks pass on it", async () => {
  await run("m", "--suppress-all");
  expect((await run("m", "--force-exclude", "--fail-on", "fixable")).exitCode).toBe(0);
});

test("a repair takes out what it repaired, where it is told to", async () => {
  writeInline(bench.folder.path);
  const one = ["model.onnx", ...plain];
  expect((await bench.tcLint([...one, "--suppress-all"])).exitCode).toBe(0);
  expect(countsOf()).toEqual([["model.onnx", expect.objectContaining({ TC101: expect.any(Number) })]]);
  expect((await bench.tcLint([...one, "--fix", "--prune-suppressions"])).exitCode).toBe(0);
  expect(countsOf()).toEqual([]);
});

test("what a repair itself made stale is named, and fails the next run, not this one", async () => {
  writeInline(bench.folder.path);
  const one = ["model.onnx", ...plain];
  await bench.tcLint([...one, "--suppress-all"]);
  const fixed = await bench.tcLint([...one, "--fix"]);
  expect([fixed.exitCode, fixed.stderr]).toEqual([
    0,
    expect.stringMatching(
      /model\.onnx: TC101: suppresses \d+, found 0\n.*suppresses what this run repaired; --prune-suppressions takes it out\n$/,
    ),
  ]);
  // Nothing to repair any more: as any other run, which lints what is there.
  for (const again of [["--fix"], []]) {
    const { exitCode, stderr } = await bench.tcLint([...one, ...again]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("suppresses what is found no more")]);
  }
});

describe("is refused", () => {
  const wrong = [
    ["no JSON", "{", "is not valid JSON"],
    ["another version", '{"version": 2, "models": {}}', "version: found 2, expected 1"],
    [
      "no count",
      '{"version": 1, "models": {"a.onnx": {"rules": {"TC102": {"count": 0}}}}}',
      "expected a whole number",
    ],
    ["an unknown key", '{"version": 1, "models": {}, "extra": 1}', "extra: unknown key"],
  ] as const;
  test.each(wrong)("%s", async (_, text, message) => {
    writeFileSync(at(file), text);
    const { exitCode, stderr } = await run("m", "--suppress-all");
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
    expect(read()).toBe(text);
  });

  test.each([
    [["--suppress-all", "--suppress-rule", "TC102"], "--suppress-all: found beside --suppress-rule"],
    [["--suppress-all", "--prune-suppressions"], "--suppress-all: found beside --prune-suppressions"],
    [["--prune-suppressions"], "no such file"],
    [["--suppressions-location", "none.json"], "no such file"],
    [["--diff", "--suppress-all"], "--diff: lints nothing"],
    [["--suppress-all", "-o", file, "-f", "json"], "is named like a baseline"],
    [["--suppress-all", "--suppressions-location", "none/file.json"], "its folder"],
  ] as const)("%s", async (args: readonly string[], message) => {
    if (args.includes("-o")) await run("m", "--suppress-all");
    const { exitCode, stderr } = await run("m/a.onnx", ...args);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(message)]);
  });
});
