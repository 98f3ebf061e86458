/** What stdout has where a run fails: whoever reads a format of it has the failure there, with exit code 2. */
import { readFileSync } from "node:fs";
import { Ajv } from "ajv";
import { describe, expect, test } from "vitest";
import { errorReport } from "../../src/ir/error-report.ts";
import { info, modelBytes, node } from "../onnx/build.ts";
import { bytesOf, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const schema = JSON.parse(readFileSync("schemas/report.schema.json", "utf8"));
const isReport = new Ajv({ strict: false }).compile(schema);
const empty = { file: null, node: null, found: null, expected: null };

/** Each with what its error says. */
const failures = [
  [["nosuch.onnx"], { code: "not-found", file: "nosuch.onnx" }],
  [["text.onnx"], { file: "text.onnx" }],
  [["head.onnx", "--bogus"], { code: "usage", message: "Unknown argument: bogus", ...empty }],
  [
    ["head.onnx", "--gpu", "nosuch"],
    { file: null, found: '"nosuch"', expected: expect.stringMatching(/^one of t4/) },
  ],
  [["head.onnx", "--dim", "x=y"], { code: "usage", found: '"x=y"' }],
  [["head.onnx", "--dim", "nosuch=3"], { code: "unknown-dimension", file: "head.onnx" }],
  [["head.onnx", "--config", "nope.json"], { code: "bad-config", file: "nope.json" }],
  [["head.onnx", "--shape", "x=3"], { file: "head.onnx" }],
] as const;

function write(): void {
  bench.folder.write("head.onnx", bytesOf(headModel({ rows: "batch" })));
  bench.folder.write("text.onnx", "this is no model");
}

describe.each(failures)("%j", (args, error) => {
  test("as JSON is a report by the schema, with the error", async () => {
    write();
    const { exitCode, stdout } = await bench.tcLint([...args, "-f", "json"]);
    expect(exitCode).toBe(2);
    const report = JSON.parse(stdout);
    expect(isReport(report), JSON.stringify(isReport.errors)).toBe(true);
    expect(report.errors).toEqual([expect.objectContaining(error)]);
  });

  test("as SARIF is a run that was not successful, and says why", async () => {
    write();
    const { exitCode, stdout } = await bench.tcLint([...args, "--format=sarif"]);
    expect(exitCode).toBe(2);
    const [invocation] = JSON.parse(stdout).runs[0].invocations;
    const { toolConfigurationNotifications = [], toolExecutionNotifications = [] } = invocation;
    expect(invocation.executionSuccessful).toBe(false);
    expect([...toolConfigurationNotifications, ...toolExecutionNotifications][0].level).toBe("error");
  });

  test("is an error of JUnit, and an annotation", async () => {
    write();
    const junit = await bench.tcLint([...args, "-f", "junit"]);
    expect([junit.exitCode, junit.stdout]).toEqual([
      2,
      expect.stringMatching(/tests="1" failures="0" errors="1"/),
    ]);
    const github = await bench.tcLint([...args, "-f", "github"]);
    expect([github.exitCode, github.stdout]).toEqual([
      2,
      expect.stringMatching(/^::error .*title=tc-lint [\w-]+::./),
    ]);
  });
});

describe.each(failures)("%j", (args) => {
  test("is an issue of code quality tools, of a file, and a line for programs that read text", async () => {
    write();
    const of = async (format: string) => {
      const { exitCode, stdout } = await bench.tcLint([...args, "-f", format]);
      expect(exitCode).toBe(2);
      return stdout;
    };
    const [issue, ...more] = JSON.parse(await of("gitlab"));
    expect(more).toEqual([]);
    const path = expect.stringMatching(/^(tc-lint|[\w.]+\.(onnx|json))$/);
    expect(issue).toMatchObject({ severity: "blocker", location: { path, lines: { begin: 1 } } });
    const { diagnostics } = JSON.parse(await of("rdjson"));
    expect(diagnostics).toEqual([expect.objectContaining({ severity: "ERROR", message: issue.description })]);
    expect(await of("checkstyle")).toMatch(
      /<file name="[^"]+">\s*<error line="1" severity="error" message="./,
    );
    expect(await of("agent")).toMatch(/^[^:]+: failed [\w-]+: ./);
  });
});

test("of a model beside others, errors has it, and models the others", async () => {
  write();
  const { exitCode, stdout } = await bench.tcLint(["head.onnx", "nosuch.onnx", "-f", "json"]);
  expect(exitCode).toBe(2);
  const { models, errors } = JSON.parse(stdout);
  expect(models.map(({ error }: { error: unknown }) => error === null)).toEqual([true, false]);
  expect(errors).toMatchObject([{ code: "not-found", file: "nosuch.onnx" }]);
});

test("a model that failed has no figures in JSON, alone, beside others and in a fix's report", async () => {
  write();
  const unread = { irVersion: null, nodes: null, parameters: null, predicted: null };
  for (const args of [
    ["nosuch.onnx"],
    ["head.onnx", "text.onnx"],
    ["head.onnx", "nosuch.onnx", "-o", "a.json"],
  ]) {
    const { stdout } = await bench.tcLint([...args, "-f", "json"]);
    const text = stdout === "" ? readFileSync(`${bench.folder.path}/a.json`, "utf8") : stdout;
    const report = JSON.parse(text);
    expect(isReport(report), JSON.stringify(isReport.errors)).toBe(true);
    expect(report.models.at(-1)).toMatchObject(unread);
    if (report.models.length > 1) expect(report.models[0].predicted.microseconds).toBeGreaterThan(0);
  }
});

test.each([
  [["verify", "nosuch.onnx", "head.onnx"], { code: "not-found", file: "nosuch.onnx" }],
  [["bench", "--plan", "nosuch.onnx"], { code: "not-found", file: "nosuch.onnx" }],
  [["compare", "head.onnx"], { code: "usage", file: null, found: "1 path" }],
] as const)("other commands have errors alone: %j", async (args, error) => {
  write();
  const { exitCode, stdout } = await bench.tcLint([...args, "-f", "json"]);
  expect(exitCode).toBe(2);
  expect(JSON.parse(stdout)).toEqual({
    version: 1,
    tool: { name: "tc-lint", version: expect.any(String) },
    errors: [expect.objectContaining(error)],
  });
});

test("a report that goes to a file leaves stdout empty", async () => {
  write();
  for (const flags of [["-f", "json=out.json"], ["-f", "json", "-o", "out.json"], []])
    expect(await bench.tcLint(["head.onnx", "--bogus", ...flags])).toMatchObject({ exitCode: 2, stdout: "" });
});

test("a message's node, and what it found and expected, are its parts", () => {
  const message =
    'm.onnx: node "a b (c)" (com.microsoft::Gelu): axis 2: found 3 of them, expected 4; opset 17 has it';
  expect(errorReport({ code: "invalid-node", message }, "m.onnx")).toEqual({
    code: "invalid-node",
    message,
    file: "m.onnx",
    node: "a b (c)",
    found: "3 of them",
    expected: "4",
  });
  const turned = errorReport({ code: "x", message: "verify: expected 2 arguments, found 1; --help" }, null);
  expect(turned).toMatchObject({ node: null, found: "1", expected: "2 arguments" });
});

test.each([
  ['node "c" (Conv): strides are [0,0], expected positive numbers', "[0,0]", "positive numbers"],
  ['node "c" (Conv): the input has rank 3, expected 4', "rank 3", "4"],
  ['node "c" (Conv): channels of X and W (group 3): 8 does not equal 9', "8", "9"],
  ['node "c" (Split): Split sizes [2,3] add up to 5, expected 6', "5", "6"],
  [
    'node "c" (Gather): indices of rank 2 for a tensor of rank 0, expected the same',
    "indices of rank 2 for a tensor of rank 0",
    "the same",
  ],
  [
    'byte 7: external data location "/etc/is it" is absolute, expected a path inside the folder',
    "absolute",
    "a path inside the folder",
  ],
  ["is text, expected a binary ONNX model", "text", "a binary ONNX model"],
])("a model's error %s has its parts", (message, found, expected) => {
  expect(errorReport({ code: "invalid-node", message: `m.onnx: ${message}` }, "m.onnx")).toMatchObject({
    node: message.startsWith("node") ? "c" : null,
    found,
    expected,
  });
});

test.each([
  [
    "w",
    { dims: [5], rawData: new Uint8Array(8) },
    { code: "raw-data-short", found: "8 bytes", expected: "20 for 5 elements of float32" },
  ],
  ["cycle", undefined, { code: "cycle", node: "turns" }],
])("the error of a model has what it found in JSON: %s", async (name, tensor, parts) => {
  const bytes = modelBytes({
    node: [node("Add", ["x", tensor === undefined ? "y" : "w"], ["y"], { name: "turns" })],
    input: [info("x", [5])],
    output: [info("y", [5])],
    initializer: tensor === undefined ? [] : [{ name, dataType: 1, ...tensor }],
  });
  bench.folder.write("bad.onnx", bytes);
  const { stdout } = await bench.tcLint(["bad.onnx", "-f", "json"]);
  expect(JSON.parse(stdout).errors).toMatchObject([parts]);
});
