/** @file docs/custom-rules.md: every file that it prints is written as it stands, and does what it says. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { model } from "../../fixtures/builder.ts";
import { type Folder, temporaryFolder } from "../cli/models.ts";
import { run } from "../cli/run.ts";
import { type BuiltCli, buildCli } from "../cli-process.ts";
import { hardSwishModel } from "../lint/plugin/models.ts";

const page = readFileSync(path.join(import.meta.dirname, "..", "..", "docs", "custom-rules.md"), "utf8");
const files = [...page.matchAll(/^```js\n\/\/ (\S+)\n([\s\S]*?)^```$/gm)].map(([, name = "", text = ""]) => ({
  name,
  text,
}));

let cli: BuiltCli;
let folder: Folder;

beforeAll(() => {
  cli = buildCli();
  folder = temporaryFolder();
  folder.write("package.json", "{}");
  for (const { name, text } of files) folder.write(name, text);
  // As it is installed.
  const installed = path.join(folder.path, "node_modules", "tc-lint");
  mkdirSync(installed, { recursive: true });
  const manifest = readFileSync(path.join(import.meta.dirname, "..", "..", "package.json"), "utf8");
  writeFileSync(path.join(installed, "package.json"), manifest);
  symlinkSync(path.dirname(path.dirname(cli.script)), path.join(installed, "dist"));
  folder.write("hard-swish.onnx", hardSwishModel());
  folder.write("softmax.onnx", softmax());
  folder.write("joined.onnx", joined());
});
afterAll(() => {
  cli[Symbol.dispose]();
  folder[Symbol.dispose]();
});

function softmax(): Uint8Array {
  return model({ name: "softmax" }, (graph) => {
    for (const [index, columns] of [4096, 8192].entries()) {
      const x = graph.input(`x${index}`, ["rows", columns]);
      graph.node("Softmax", [x], {}, { name: `softmax_${columns}`, outputs: [`y${index}`] });
      graph.output(`y${index}`, "float32", ["rows", columns]);
    }
  });
}

function joined(): Uint8Array {
  return model({ name: "joined" }, (graph) => {
    const x = graph.input("x", [512, 1024], "float16");
    const parts = [256, 256, 512].map((columns) =>
      graph.node("MatMul", [x, graph.weight([1024, columns], { dtype: "float16" })]),
    );
    graph.node("Concat", parts, { axis: 1 }, { name: "join", outputs: ["y"] });
    graph.output("y", "float16", [512, 1024]);
  });
}

const node = (...args: readonly string[]) =>
  spawnSync(process.execPath, args, { cwd: folder.path, encoding: "utf8" });

async function findingsOf(name: string) {
  const { stdout } = await run(cli, [name, "--select", "acme/", "-f", "json"], { cwd: folder.path });
  const [report] = JSON.parse(stdout).models;
  return report;
}

describe("docs/custom-rules.md", () => {
  test("prints a configuration, a plugin, three rules, a test and a model", () => {
    expect(files.map(({ name }) => name)).toEqual([
      "tc-lint.config.mjs",
      "lint/acme.mjs",
      "lint/written-hard-swish.mjs",
      "lint/no-big-softmax.mjs",
      "lint/joined-products.mjs",
      "lint/written-hard-swish.test.mjs",
      "lint/write-model.mjs",
    ]);
  });

  test.each([
    [
      "hard-swish.onnx",
      { code: "acme/written-hard-swish", node: "mul_0", severity: "error", fix: "safe" },
      true,
    ],
    [
      "softmax.onnx",
      { code: "acme/no-big-softmax", node: "softmax_8192", severity: "warn", saves: null },
      false,
    ],
    ["joined.onnx", { code: "acme/joined-products", node: "join", severity: "error", fix: "none" }, true],
  ])("has a rule that flags what is in %s", async (name, finding, saves) => {
    const report = await findingsOf(name);
    expect(report.findings).toEqual([expect.objectContaining(finding)]);
    if (saves) expect(report.findings[0].saves.low).toBeGreaterThan(0);
    if (saves) expect(report.findings[0].saves.microseconds).toBeLessThan(report.predicted.microseconds);
  });

  test("has a test that passes, and that fails for another rule", () => {
    const { status, stderr } = node("lint/written-hard-swish.test.mjs");
    expect([stderr, status]).toEqual(["", 0]);
    const text = files.find(({ name }) => name.endsWith(".test.mjs"))?.text ?? "";
    folder.write(
      "lint/wrong.mjs",
      text.replace("gated(0.2)", "gated(1 / 6)").replace('["HardSwish"]', '["Relu"]'),
    );
    const wrong = node("lint/wrong.mjs");
    expect(wrong.status).not.toBe(0);
    expect(wrong.stderr).toContain("written-hard-swish: 2 of 2 failed");
    expect(wrong.stderr).toMatch(/leaves another slope: expected 0 findings, found 1:/);
    expect(wrong.stderr).toContain("flags a mobile network's gate: fixed: found HardSwish, expected Relu");
  });

  test("has a test that node:test runs, too", () => {
    const text = files.find(({ name }) => name.endsWith(".test.mjs"))?.text ?? "";
    const registered = text
      .replace(/^/, 'import { describe, it } from "node:test";\n')
      .replace("new RuleTester()", "new RuleTester({ describe, it })");
    folder.write("lint/runner.test.mjs", registered);
    const { status, stdout } = node("--test", "--test-reporter=tap", "lint/runner.test.mjs");
    expect(status).toBe(0);
    expect(stdout).toMatch(/# tests 2\b[\s\S]*# pass 2\b/);
  });

  test("shows what explain-match says", async () => {
    const [, command = "", said = ""] = /^\$ tc-lint (.*)\n([\s\S]*?)^```$/m.exec(page) ?? [];
    const { status, stderr } = node("lint/write-model.mjs");
    expect([stderr, status]).toEqual(["", 0]);
    const { stdout, exitCode } = await run(cli, command.split(" "), { cwd: folder.path });
    expect([stdout, exitCode]).toEqual([said, 1]);
  });
});
