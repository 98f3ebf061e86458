/** Patterns that are made to take long, from wherever they come: the command line, or a configuration beside a model. */
import { beforeEach, describe, expect, it } from "vitest";
import { bytesOf, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const name = `${"a".repeat(200)}.onnx`;
const slow = `${"*a".repeat(60)}*b`;
const multiplied = "{a,b}".repeat(20);

beforeEach(() => {
  bench.folder.write(name, bytesOf(headModel({ nodeName: "a".repeat(200) })));
});

const configure = (config: object) => bench.folder.write("tc-lint.config.json", JSON.stringify(config));

describe("a pattern that is made to take long does not", () => {
  it.each([
    ["ignores", { ignores: [slow] }],
    ["files of an override", { overrides: [{ files: [slow], rules: { TC1: "off" } }] }],
    ["nodes of an override", { overrides: [{ nodes: [slow], rules: { TC1: "off" } }] }],
  ])("in %s", async (_, config) => {
    configure(config);
    const { exitCode, stdout } = await bench.tcLint([".", "--exit-zero"]);
    expect(exitCode).toBe(0);
    // None of them matches, so that the finding stays.
    expect(stdout).toContain("off the multiple of 8");
  });

  it("on the command line", async () => {
    const { exitCode, stderr } = await bench.tcLint([slow]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("no .onnx file there")]);
  });
});

describe("a pattern that stands for too many is named, with exit code 2", () => {
  it.each([
    ["ignores", { ignores: [multiplied] }, /config\.json: ignores: "\{a,b\}/],
    [
      "files of an override",
      { overrides: [{ files: [multiplied], rules: {} }] },
      /config\.json: overrides: "\{a,b\}/,
    ],
    ["nodes of an override", { overrides: [{ nodes: [multiplied], rules: {} }] }, /nodes: "\{a,b\}/],
  ])("in %s", async (_, config, said) => {
    configure(config);
    const { exitCode, stdout, stderr } = await bench.tcLint(["."]);
    expect(exitCode).toBe(2);
    expect(stdout + stderr).toMatch(said);
    expect(stdout + stderr).toMatch(/more than 1000 alternatives/);
    expect(stdout + stderr).not.toContain("bug");
  });

  it("on the command line", async () => {
    const { exitCode, stderr } = await bench.tcLint([multiplied]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/"\/\{a,b\}.*…" is no pattern: .*more than 1000 alternatives/);
    expect(stderr).not.toContain("bug");
  });
});
