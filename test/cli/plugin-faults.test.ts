/** @file Code of a project that does what code of a rule must not: whatever it does, the run says so, and exits with 2. */
import { describe, expect, test } from "vitest";
import { hardSwishModel } from "../lint/plugin/models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

function project(plugin: string): void {
  bench.folder.write("package.json", "{}");
  bench.folder.write("lint/acme.mjs", plugin);
  bench.folder.write("tc-lint.config.mjs", 'export default { plugins: ["./lint/acme.mjs"] };');
  for (const name of ["m.onnx", "n.onnx"]) bench.folder.write(name, hardSwishModel());
}

/** A plugin whose rule has this part; what stands `before` it runs as it is loaded. */
function pluginOf(part: string, before = ""): string {
  return `${before}
export default { name: "acme", rules: [{ name: "tried", severity: "warn", messages: { said: "said {what}" }, ${part} }] };`;
}

const atMul = 'match: (p) => p.op("Mul")';
const saying = `${atMul}, report: () => ({ message: "said", data: { what: 1 } })`;

/** In the main thread, and in worker threads. */
const runs: readonly (readonly string[])[] = [["m.onnx"], ["m.onnx", "n.onnx", "--jobs", "2"]];

async function said(plugin: string, args: readonly string[]): Promise<string> {
  project(plugin);
  const { exitCode, stdout, stderr } = await bench.tcLint([...args]);
  expect(stdout + stderr).not.toContain("bug in tc-lint");
  expect(exitCode).toBe(2);
  return stdout + stderr;
}

describe("An answer that is none is named:", () => {
  const args = ["m.onnx"];
  const promise = / gave a promise, and a rule answers at once/;
  test.each([
    ["a report that is a promise", `${atMul}, report: async () => ({ message: "said" })`, promise],
    ["a cost that is one", `${saying}, cost: async (match, cost) => cost.fused()`, promise],
    ["one that rejects", `${atMul}, report: async () => { throw new Error("oh"); }`, promise],
    ["a pattern that is one", 'match: async (p) => p.op("Mul")', promise],
    [
      "a condition that is one",
      'match: (p) => p.op("Mul", {}, { where: { "is odd": async () => false } })',
      promise,
    ],
    ["a generator that is async", "async *check() { yield 1; }", /check is async/],
    ["a pattern that is none", "match: () => 42", /match gave 42, expected a pattern/],
    ["a report that is none", `${atMul}, report: () => 42`, /report gave 42, expected \{ message, data \}/],
    ["a cost that is a number", `${saying}, cost: () => 12`, /cost gave 12, expected \{ microseconds/],
    ["findings that are none", "check: () => 7", /check gave 7, expected findings/],
    ["a finding that is none", "check: () => [7]", /found 7 in place of a finding/],
    [
      "data that cannot be text",
      `${atMul}, report: () => ({ message: "said", data: { what: { toString() { throw 1; } } } })`,
      /data "what" is an object, expected text/,
    ],
    [
      "an error that cannot be text",
      `${atMul}, report() { throw { toString() { throw 1; } }; }`,
      /threw an object/,
    ],
  ])("%s", async (_what, part, message) => {
    expect(await said(pluginOf(part), args)).toMatch(message);
  });

  test("a fix that is a promise", async () => {
    const fix =
      "fix: async (match, edits) => edits.replace(match.root, { op: 'Neg', inputs: [match.root.inputs[0]] })";
    expect(await said(pluginOf(`${saying}, cost: (match, cost) => cost.fused(), ${fix}`), args)).toMatch(
      promise,
    );
  });
});

describe.each(runs)("A run of %s %s that a plugin ends is no clean one:", (...args) => {
  test.each([
    ["as it is loaded", pluginOf(saying, "process.exit(0);")],
    ["in a rule", pluginOf(`${atMul}, report() { process.exit(0); }`)],
    ["by a promise that never settles", pluginOf(saying, "await new Promise(() => {});")],
    ["with the code of findings", pluginOf(saying, "process.exit(1);")],
  ])("%s", async (_what, plugin) => {
    expect(await said(plugin, args)).toMatch(/process\.exit.*/);
  });

  test.each([
    ["a timer", "setTimeout(() => { throw new Error('late'); }, 0);"],
    ["a promise", "setTimeout(() => Promise.reject(new Error('late')), 0);"],
  ])("by an error of %s", async (_what, before) => {
    const text = await said(
      pluginOf(saying, `${before} await new Promise((wake) => setTimeout(wake, 50));`),
      args,
    );
    expect(text).toContain("nobody waited for");
    expect(text).toContain("Error: late");
    expect(text).toContain("lint/acme.mjs");
  });
});

describe("Code that does not come to an end while it is loaded is stopped:", () => {
  test.each([
    ["a loop", pluginOf(saying, "for (;;);")],
    ["a loop, with several models", pluginOf(saying, "for (;;);"), ["m.onnx", "n.onnx", "--jobs", "2"]],
    ["a loop of what it imports", pluginOf(saying, 'import "./endless.mjs";')],
    ["a loop behind an await", pluginOf(saying, "await 0; for (;;);")],
    ["promises of promises", pluginOf(saying, "await (async () => { for (;;) await 0; })();")],
    [
      "a wait that nobody ends",
      pluginOf(saying, "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);"),
    ],
    [
      "an await of what never comes, beside a timer",
      pluginOf(saying, "setInterval(() => {}, 100); await new Promise(() => {});"),
    ],
  ])("%s", async (_what, plugin, args = ["m.onnx"]) => {
    bench.folder.write(
      "lint/endless.mjs",
      "const turn = () => { for (;;) { try { turn(); } catch {} } }; turn();",
    );
    const began = performance.now();
    expect(await said(plugin, [...args, "--timeout", "1"])).toMatch(
      /lint\/acme\.mjs: loading it was stopped after 1 s; --timeout allows more/,
    );
    expect(performance.now() - began).toBeLessThan(20_000);
  });
});

test("a configuration that loops is stopped too, and one that takes its time is not", async () => {
  project(pluginOf(saying));
  bench.folder.write("tc-lint.config.mjs", "for (;;);");
  const { exitCode, stderr } = await bench.tcLint(["m.onnx", "--timeout", "1"]);
  expect([exitCode, stderr]).toEqual([
    2,
    expect.stringContaining("tc-lint.config.mjs: loading it was stopped after 1 s"),
  ]);
  bench.folder.write(
    "tc-lint.config.mjs",
    "const end = Date.now() + 1000; while (Date.now() < end); export default {};",
  );
  expect(await bench.tcLint(["m.onnx", "--timeout", "30"])).toMatchObject({ exitCode: 0, stderr: "" });
});

describe.each(runs)("A plugin, with %s %s,", (...args) => {
  test("prints to stderr: stdout is the report's", async () => {
    project(pluginOf(saying, 'console.log("loaded"); console.info("so"); console.table([1]);'));
    const { stdout, stderr } = await bench.tcLint([...args, "-f", "json"]);
    expect(JSON.parse(stdout).models).toHaveLength(args.includes("n.onnx") ? 2 : 1);
    expect(stderr).toContain("loaded");
  });

  test("that leaves a timer behind keeps nobody waiting", async () => {
    project(pluginOf(saying, "setInterval(() => {}, 1000);"));
    const { stdout } = await bench.tcLint([...args, "-f", "json"]);
    expect(JSON.parse(stdout).version).toBe(1);
  });
});
