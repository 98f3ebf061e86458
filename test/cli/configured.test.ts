import { createRequire } from "node:module";
import { Ajv } from "ajv";
import AjvDraft04 from "ajv-draft-04";
import addFormats from "ajv-formats";
import { beforeEach, describe, expect, test } from "vitest";
import { bytesOf, cleanModel, headModel } from "./models.ts";
import { onlyHead, useWorkbench } from "./workbench.ts";

const require = createRequire(import.meta.url);
const bench = useWorkbench();
const isReport = new Ajv({ allowUnionTypes: true }).compile(require("../../schemas/report.schema.json"));
const draft04 = addFormats.default(new AjvDraft04.default({ strict: false, unicodeRegExp: false }));
const isSarif = draft04.compile(require("@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json"));

describe("configuration", () => {
  beforeEach(() => {
    bench.folder.write("a.onnx", bytesOf(headModel()));
  });

  test("the nearest file decides, --no-config passes it over", async () => {
    bench.folder.write("tc-lint.config.json", '{"rules": {"TC": "off"}, "gpu": "l4"}');
    expect((await bench.tcLint(["a.onnx"])).exitCode).toBe(0);
    expect((await bench.jsonOf(["a.onnx"])).models[0]?.target.gpu).toBe("l4");
    expect((await bench.jsonOf(["a.onnx", "--no-config"])).models[0]?.target.gpu).toBe("h200");
  });

  test("a script may hold functions as long as the configuration does not", async () => {
    bench.folder.write("package.json", "{}");
    bench.folder.write("tc-lint.config.mjs", 'const gpu = () => "a100"; export default { gpu: gpu() };');
    bench.folder.write("b.onnx", bytesOf(headModel()));
    expect((await bench.jsonOf(["a.onnx", "b.onnx"])).models.map(({ target }) => target.gpu)).toEqual([
      "a100",
      "a100",
    ]);
  });

  test("overrides suppress at nodes, and the report counts them", async () => {
    bench.folder.write(
      "tc-lint.config.json",
      '{"overrides": [{"files": ["a.onnx"], "nodes": ["/lm_head/*"], "rules": {"misaligned-gemm": "off"}}]}',
    );
    const report = await bench.jsonOf(["a.onnx", ...onlyHead]);
    expect(report.models[0]).toMatchObject({ findings: [], suppressed: 1 });
  });

  test("a rule that is off comes back at the nodes that an override names", async () => {
    bench.folder.write(
      "tc-lint.config.json",
      '{"rules": {"TC": "off"}, "overrides": [{"nodes": ["/lm_head/*"], "rules": {"TC102": "error"}}]}',
    );
    const report = await bench.jsonOf(["a.onnx"]);
    expect(report.models[0]?.findings.map(({ code, severity }) => [code, severity])).toEqual([
      ["TC102", "error"],
    ]);
    bench.folder.write("b.onnx", bytesOf(headModel({ nodeName: "other" })));
    expect((await bench.jsonOf(["b.onnx"])).models[0]?.findings).toEqual([]);
  });

  test("metadata of the model suppresses with a reason", async () => {
    bench.folder.write(
      "c.onnx",
      bytesOf(headModel({ metadata: { "tc-lint.ignore": "TC102 -- the vocabulary is fixed" } })),
    );
    expect((await bench.jsonOf(["c.onnx", ...onlyHead])).models[0]).toMatchObject({
      findings: [],
      suppressed: 1,
    });
  });

  test("--show-suppressed lists what was switched off, with its reason, and SARIF marks it so", async () => {
    const metadata = { "tc-lint.ignore": "TC102 -- the vocabulary [50257] is fixed" };
    bench.folder.write("models/c.onnx", bytesOf(headModel({ metadata })));
    bench.folder.write("models/d.onnx", bytesOf(headModel({ nodeName: "kept" })));
    bench.folder.write("models/e.onnx", bytesOf(headModel()));
    bench.folder.write(
      "tc-lint.config.json",
      '{"overrides": [{"nodes": ["/lm_head/*"], "rules": {"misaligned-gemm": "off"}}]}',
    );
    const report = await bench.jsonOf(["models", ...onlyHead, "--show-suppressed"]);
    isReport(report);
    expect(isReport.errors).toBeNull();
    const [c, d, e] = report.models.map(({ suppressions = [] }) =>
      suppressions.map(({ code, by, reason }) => [code, by, reason]),
    );
    expect(c).toEqual([["TC102", "configuration", null]]);
    expect([d, e]).toEqual([[], [["TC102", "configuration", null]]]);
    bench.folder.write("tc-lint.config.json", "{}");
    const { stdout } = await bench.tcLint(["models", ...onlyHead, "--show-suppressed", "-f", "sarif"]);
    const log = JSON.parse(stdout);
    isSarif(log);
    expect(isSarif.errors).toBeNull();
    const marks = log.runs[0].results.map((each: { suppressions: object[] }) => each.suppressions);
    const reason = "the vocabulary \\[50257\\] is fixed";
    expect(marks.sort((a: object[], b: object[]) => a.length - b.length)).toEqual([
      [],
      [],
      [{ kind: "inSource", justification: reason }],
    ]);
    const fingerprints = log.runs[0].results.map((each: { partialFingerprints: object }) =>
      JSON.stringify(each.partialFingerprints),
    );
    // One finding, suppressed in one model and not in its copy, is one finding.
    expect(new Set(fingerprints).size).toBe(2);
    expect(
      JSON.parse((await bench.tcLint(["models", ...onlyHead, "-f", "sarif"])).stdout).runs[0].results,
    ).toHaveLength(2);
  });

  test("ignores hold for what is found, and with --force-exclude for what is named", async () => {
    bench.folder.write("old/b.onnx", bytesOf(headModel()));
    bench.folder.write("tc-lint.config.json", '{"ignores": ["old/**"]}');
    const paths = async (...args: string[]) => (await bench.jsonOf(args)).models.map((model) => model.path);
    expect(await paths(".")).toEqual(["a.onnx"]);
    expect(await paths("a.onnx", "old/b.onnx")).toEqual(["a.onnx", "old/b.onnx"]);
    expect(await paths("a.onnx", "old/b.onnx", "--force-exclude")).toEqual(["a.onnx"]);
  });

  test("what is wrong in a file is named with its key", async () => {
    bench.folder.write("tc-lint.config.json", '{"rules": {"TC102": "of"}}');
    const { exitCode, stderr } = await bench.tcLint(["a.onnx"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`tc-lint.config.json: rules.TC102: found "of", expected one of`);
  });

  test.each([
    ["text", ["a.onnx"], "stdout"],
    ["json", ["-f", "json", "a.onnx"], "stdout"],
    ["sarif", ["-f", "sarif", "a.onnx"], "stdout"],
    ["markdown", ["-f", "markdown", "a.onnx"], "stdout"],
    ["github", ["-f", "github", "a.onnx"], "stderr"],
    ["csv", ["-f", "csv", "a.onnx", "b.onnx"], "stderr"],
    ["junit", ["-f", "junit", "a.onnx"], "stderr"],
    ["a model that fails", ["-f", "json", "none.onnx"], "stdout"],
    ["--diff", ["--diff", "plain.onnx"], "stderr"],
    ["--diff as JSON", ["--diff", "-f", "json", "plain.onnx"], "stdout"],
    ["--fix-only", ["--fix-only", "--no-verify", "plain.onnx"], "stderr"],
    ["bench --plan", ["bench", "--plan", "plain.onnx"], "stderr"],
  ] as const)("is named once: %s", async (_, args, stream) => {
    bench.folder.write("tc-lint.config.json", '{"minSaving": 0}');
    bench.folder.write("a.onnx", bytesOf(headModel()));
    bench.folder.write("b.onnx", bytesOf(headModel()));
    bench.folder.write("plain.onnx", bytesOf(cleanModel()));
    const run = await bench.tcLint(args);
    expect(run[stream]).toContain("tc-lint.config.json");
    expect((run.stdout + run.stderr).split("tc-lint.config.json").length - 1).toBe(1);
    if (stream === "stdout") expect(run.stderr).not.toContain("configured");
    else
      expect(run.stderr).toMatch(
        /^tc-lint: \w+\.onnx( and 1 more model)?: configured by tc-lint\.config\.json$/m,
      );
  });

  test("an error in a file that others extend names them all, in the file's own quotes", async () => {
    bench.folder.write("tc-lint.config.json", '{"extends": "./middle.json"}');
    bench.folder.write("middle.json", '{"extends": "./base.json"}');
    bench.folder.write("base.json", '{"gpu": ["t4"]}');
    const { exitCode, stderr } = await bench.tcLint(["a.onnx"]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/^tc-lint: base\.json: gpu: found \["t4"\], expected one of "t4", /);
    expect(stderr).toMatch(/\(extended by middle\.json, which is extended by tc-lint\.config\.json\)\n$/);
  });

  test("--print-config and print-config show what was decided", async () => {
    bench.folder.write("tc-lint.config.json", '{"gpu": "l4", "rules": {"TC102": "off"}}');
    const flag = await bench.tcLint(["a.onnx", "--print-config", "--dim", "batch=3"]);
    const command = await bench.tcLint(["print-config", "a.onnx", "--dim", "batch=3"]);
    expect(flag).toEqual(command);
    expect(JSON.parse(flag.stdout)).toMatchObject({
      path: "a.onnx",
      gpu: "l4",
      dims: { batch: 3 },
      severities: { TC101: "warn", TC102: "off" },
      configFiles: ["tc-lint.config.json"],
    });
    expect(JSON.parse((await bench.tcLint(["print-config"])).stdout)).toMatchObject({ gpu: "l4" });
  });
});
