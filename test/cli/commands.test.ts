import { existsSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { bytesOf, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

describe("the rest", () => {
  test("--version and --help", async () => {
    const manifest = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
    expect(await bench.tcLint(["--version"])).toMatchObject({
      exitCode: 0,
      stdout: `${manifest.version}\n`,
      stderr: "",
    });
    const help = await bench.tcLint(["--help"]);
    expect([help.exitCode, help.stderr]).toEqual([0, ""]);
    for (const text of ["--gpu", "--max-warnings", "explain [rule]", "Exit codes: 0 clean"])
      expect(help.stdout).toContain(text);
    // Of each code what else ends a run with it: README and docs/fixing.md have the tables.
    const codes = /Exit codes: .*?(?:\n\n|$)/s.exec(help.stdout)?.[0] ?? "";
    expect(help.stdout.match(/^Exit codes/gm)).toHaveLength(1);
    for (const text of ["--fail-on", "--max-warnings", "budget", "--diff", "--exit-non-zero-on-fix", "130"])
      expect(codes).toContain(text);
  });

  test.each([
    "lint",
    "compare",
    "predict",
    "explain-match",
    "verify",
    "validate",
    "bench",
    "doctor",
    "calibrate",
  ])("%s --help says what it exits with", async (command) => {
    expect((await bench.tcLint([command, "--help"])).stdout).toMatch(/^Exit codes: 0 .*\b2 wrong usage/ms);
  });

  test("a graph without nodes is refused by whatever prices it, and no copy is made", async () => {
    const head = headModel();
    const output = head.graph?.input ?? [];
    const empty = bench.folder.write(
      "empty.onnx",
      bytesOf({ ...head, graph: { ...head.graph, node: [], initializer: [], output } }),
    );
    const copy = `${empty}.copy`;
    const runs = [
      ["lint", empty],
      ["--diff", empty],
      ["--fix", "--fix-output", copy, empty],
      ["compare", bench.folder.write("head.onnx", bytesOf(head)), empty],
      ["bench", "--plan", empty],
    ];
    for (const args of runs) {
      const { exitCode, stdout, stderr } = await bench.tcLint(args);
      expect([args[0], exitCode]).toEqual([args[0], 2]);
      expect(`${stdout}${stderr}`).toMatch(
        /empty\.onnx.*the graph has no node, so there is nothing to price/s,
      );
    }
    expect(existsSync(copy)).toBe(false);
  });

  test("gpus lists rows with their sources", async () => {
    const { exitCode, stdout } = await bench.tcLint(["gpus"]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/^h200 +NVIDIA H200 +9\.0 +132 /m);
    expect(stdout).toMatch(/^h200 +NVIDIA H200 datasheet/m);
    expect(JSON.parse((await bench.tcLint(["gpus", "-f", "json"])).stdout).gpus.length).toBeGreaterThan(10);
  });

  test("explain shows a rule by code or name, or lists them all", async () => {
    const [byCode, byName] = await Promise.all([
      bench.tcLint(["explain", "tc102"]),
      bench.tcLint(["explain", "misaligned-gemm"]),
    ]);
    expect(byCode).toEqual(byName);
    expect(byCode.stdout).toMatch(/^TC102 misaligned-gemm\nwarn by default; fixed by --fix\n/);
    expect((await bench.tcLint(["explain"])).stdout).toMatch(/^TC105 +narrow-stem +info /m);
    expect(JSON.parse((await bench.tcLint(["explain", "TC102", "-f", "json"])).stdout)).toMatchObject({
      code: "TC102",
    });
  });

  test("explain lists the rules whose codes begin with what --select would take for them", async () => {
    const { exitCode, stdout } = await bench.tcLint(["explain", "tc10"]);
    expect(exitCode).toBe(0);
    const codes = stdout.match(/^TC\d+/gm) ?? [];
    expect(codes.length).toBeGreaterThan(5);
    for (const code of codes) expect(code).toMatch(/^TC10\d$/);
    expect(JSON.parse((await bench.tcLint(["explain", "TC3", "-f", "json"])).stdout)[0].code).toBe("TC301");
    expect((await bench.tcLint(["explain", "TC7"])).exitCode).toBe(2);
  });

  test("an interrupt ends a run of several models with 130 and without half a report", async () => {
    for (let index = 0; index < 40; index++) bench.folder.write(`${index}.onnx`, bytesOf(headModel()));
    const { exitCode, signal, stdout } = await bench.tcLint([".", "-j", "1"], {
      interruptAfterMilliseconds: 100,
    });
    // Before the handler is in place the signal itself ends the process: shells show 130 for both.
    expect(exitCode ?? signal).toSatisfy((end) => end === 130 || end === "SIGINT");
    expect(stdout).toBe("");
  });
});
