/** Reports replace nothing that their run reads or writes, and wait for nobody. */
import { spawn, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { writeExternal, writeInline } from "../fix/models.ts";
import { plain } from "./fixing.ts";
import { bytesOf, cleanModel, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const at = (...parts: string[]) => path.join(bench.folder.path, ...parts);
const fix = ["--fix", "--no-verify", ...plain];

describe("a report named like what a fix writes", () => {
  /** The name depends on the content alone. */
  async function dataNameOf(output: string): Promise<string> {
    await bench.tcLint([...fix, "model.onnx", "--fix-output", output]);
    const name = readdirSync(at()).find((each) => /^out\.[0-9a-f]{16}\.data$/.test(each));
    if (name === undefined) throw new Error("the fix writes data beside its result");
    return name;
  }

  it("is refused before anything is written", async () => {
    writeExternal(at());
    const name = await dataNameOf("out.onnx");
    const weights = readFileSync(at(name));
    const result = readFileSync(at("out.onnx"));
    spawnSync("rm", ["-f", at(name), at("out.onnx")]);
    for (const given of [
      ["-f", `json=${name}`],
      ["-o", `./${name}`],
      ["-f", "csv=.out.onnx.tc-lint.lock"],
    ]) {
      const run = await bench.tcLint([...fix, "model.onnx", "--fix-output", "out.onnx", ...given]);
      expect([run.exitCode, run.stdout]).toEqual([2, ""]);
      expect(run.stderr).toMatch(/is named like what "out\.onnx" is written with; the report goes elsewhere/);
      expect(readdirSync(at()).sort()).toEqual(["model.onnx", "model.weights"]);
    }
    symlinkSync(name, at("link.json"));
    const late = await bench.tcLint([...fix, "model.onnx", "--fix-output", "out.onnx", "-o", "link.json"]);
    expect([late.exitCode, late.stderr]).toEqual([2, expect.stringMatching(/read by this very command/)]);
    expect([readFileSync(at(name)), readFileSync(at("out.onnx"))]).toEqual([weights, result]);
  });

  it("or like the result, whatever that is named", async () => {
    writeInline(at());
    const run = await bench.tcLint([...fix, "model.onnx", "--fix-output", "out.bin", "-o", "out.bin"]);
    expect([run.exitCode, run.stderr]).toEqual([2, expect.stringMatching(/out\.bin: is named like/)]);
    expect(existsSync(at("out.bin"))).toBe(false);
  });
});

it.each([
  ["that is there", true],
  ["that is not there yet", false],
])("a report goes through a link to a file %s, and leaves the link", async (_what, isThere) => {
  bench.folder.write("a.onnx", bytesOf(cleanModel()));
  mkdirSync(at("reports"));
  if (isThere) writeFileSync(at("reports/real.json"), "old");
  symlinkSync("reports/real.json", at("second.json"));
  symlinkSync("second.json", at("first.json"));
  const { exitCode, stderr } = await bench.tcLint(["a.onnx", "-f", "json", "-o", "first.json"]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  expect(readlinkSync(at("first.json"))).toBe("second.json");
  expect(JSON.parse(readFileSync(at("reports/real.json"), "utf8")).version).toBe(1);
});

describe("a report never replaces", () => {
  it.each([
    ["lint", ["a.onnx"]],
    ["--fix", ["--fix-only", "--no-verify", "a.onnx"]],
    ["--diff", ["--diff", "a.onnx"]],
    ["bench --plan", ["bench", "--plan", "a.onnx"]],
    ["verify", ["verify", "a.onnx", "a.onnx"]],
    ["validate", ["validate", "a.onnx"]],
  ])("weights that %s reads, which may look like text", async (_, args) => {
    bench.folder.write("a.onnx", bytesOf(headModel({ k: 2, n: 4, rows: 4 })));
    writeFileSync(at("head.weights"), "sixteen bytes..!");
    symlinkSync("head.weights", at("other.json"));
    for (const report of ["head.weights", "other.json"]) {
      const { exitCode, stderr } = await bench.tcLint([...args, "-f", "json", "-o", report]);
      expect(stderr).toMatch(/holds weights of "a\.onnx"|is read by this very command/);
      expect([exitCode, readFileSync(at("head.weights"), "utf8")]).toEqual([2, "sixteen bytes..!"]);
    }
  });

  it("inputs, or an archive that nobody asked for", async () => {
    bench.folder.write("a.onnx", bytesOf(cleanModel()));
    writeFileSync(at("in.npz"), Buffer.from("PK\u0003\u0004\0\0"));
    for (const given of [
      ["--inputs", "in.npz", "--save-inputs", "in.npz"],
      ["-o", "in.npz"],
    ]) {
      const { exitCode, stderr } = await bench.tcLint(["verify", "a.onnx", "a.onnx", ...given]);
      expect([exitCode, stderr]).toEqual([2, expect.stringMatching(/the report goes elsewhere/)]);
      expect(readFileSync(at("in.npz")).length).toBe(6);
    }
  });
});

describe.skipIf(process.platform === "win32")("a report that goes to a pipe", () => {
  const commands = [
    ["a.onnx", "-f", "json=pipe"],
    ["a.onnx", "-o", "pipe"],
    ["--fix-only", "--no-verify", "a.onnx", "-f", "json=pipe"],
    ["bench", "--plan", "a.onnx", "-o", "pipe"],
    ["verify", "a.onnx", "a.onnx", "-o", "pipe"],
  ];
  it.each(commands.map((args) => [args.join(" "), args]))(
    "that nobody reads is refused: %s",
    async (_, args) => {
      bench.folder.write("a.onnx", bytesOf(cleanModel()));
      spawnSync("mkfifo", [at("pipe")]);
      const { exitCode, stdout, stderr } = await bench.tcLint(args as string[]);
      expect([exitCode, stdout]).toEqual([2, ""]);
      expect(stderr).toMatch(/^tc-lint: pipe: is a pipe that nobody reads/);
    },
  );

  it("that somebody reads, however slowly, arrives whole", async () => {
    for (let index = 0; index < 40; index++)
      bench.folder.write(`m/${"long-name-".repeat(18)}${index}.onnx`, bytesOf(headModel()));
    spawnSync("mkfifo", [at("pipe")]);
    // More than a pipe holds, and a reader that begins late.
    const reader = spawn("sh", ["-c", "exec < pipe; sleep 1.5; cat"], { cwd: at() });
    let read = "";
    reader.stdout.setEncoding("utf8").on("data", (text: string) => {
      read += text;
    });
    const closed = new Promise((resolve) => reader.on("close", resolve));
    const args = ["m", "--exit-zero", "--table"];
    const { exitCode, stderr } = await bench.tcLint([...args, "-f", "json=pipe"]);
    await closed;
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(read.length).toBeGreaterThan(70_000);
    expect(JSON.parse(read).models.length).toBe(40);
  });

  it("of the shell works as ever, and so do devices", () => {
    bench.folder.write("a.onnx", bytesOf(cleanModel()));
    const tcLint = `"${process.execPath}" "${bench.script}" a.onnx`;
    const inShell = (command: string) =>
      spawnSync("bash", ["-c", command], { cwd: at(), encoding: "utf8" }).stdout;
    expect(inShell(`${tcLint} -f json=/dev/stdout | cat`)).toMatch(/"version": 1/);
    expect(inShell(`${tcLint} -f json=/dev/stderr 2>&1 >/dev/null | cat`)).toMatch(/"version": 1/);
    expect(inShell(`${tcLint} -f json=/dev/fd/7 7>&1 >/dev/null | cat`)).toMatch(/"version": 1/);
    expect(inShell(`${tcLint} -f json=>(cat); sleep 0.5`)).toMatch(/"version": 1/);
    expect(inShell(`${tcLint} -f json=/dev/null; echo $?`)).toBe("0\n");
    expect(inShell(`${tcLint} -f json=/dev/full 2>&1; echo $?`)).toMatch(
      /\/dev\/full: the report cannot be written \(ENOSPC\)\n2\n$/,
    );
  });
});
