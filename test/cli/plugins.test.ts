/** @file Rules of one's own: plugins that a configuration names, from a file to every report. */
import { describe, expect, test } from "vitest";
import { acme, hardSwishModel } from "../lint/plugin/models.ts";
import { bytesOf, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const only = ["--select", "acme/"];
const code = "acme/written-hard-swish";

function project(config: object = { plugins: ["./lint/acme.mjs"] }, plugin = acme): void {
  bench.folder.write("package.json", "{}");
  bench.folder.write("lint/acme.mjs", plugin);
  bench.folder.write("tc-lint.config.json", JSON.stringify(config));
  bench.folder.write("m.onnx", hardSwishModel());
}

/** A plugin with one rule, of which `rule` is the part that matters. */
function pluginOf(rule: string): string {
  return `export default { name: "acme", rules: [{ name: "tried", severity: "warn", messages: { said: "said" },
    ${rule} }] };`;
}

const failing = async (plugin: string, ...args: string[]) => {
  project(undefined, plugin);
  const { exitCode, stdout, stderr } = await bench.tcLint(["m.onnx", ...args]);
  expect(exitCode).toBe(2);
  return stdout + stderr;
};

describe("A plugin of the configuration", () => {
  test("is asked, and reports have its findings", async () => {
    project();
    const { stdout, stderr, exitCode } = await bench.tcLint(["m.onnx", ...only]);
    expect([stderr, exitCode]).toEqual(["", 1]);
    expect(stdout).toMatch(/acme\/written-hard-swish {2}mul_0 \(Mul\) {2}saves/);
    expect(stdout).toContain("HardSwish is written as 2 nodes");
  });

  test("is asked in every run with --cache, which --verbose says", async () => {
    project();
    for (let run = 0; run < 2; run++) {
      const { stderr } = await bench.tcLint(["m.onnx", "--cache", "--verbose"]);
      expect(stderr).toContain("--cache: 0 of 1 model known from ");
      expect(stderr).toContain(
        "--cache: 1 model linted anew in every run, because of rules of plugins or a profile",
      );
    }
    expect((await bench.tcLint(["m.onnx", "--cache"])).stderr).not.toContain("--cache:");
  });

  test("is asked in worker threads, and changes nothing about other models", async () => {
    project();
    bench.folder.write("n.onnx", hardSwishModel(2));
    bench.folder.write("head.onnx", bytesOf(headModel()));
    const report = await bench.jsonOf(["."]);
    const counts = report.models.map(({ findings }) => findings.filter((each) => each.code === code).length);
    expect(counts).toEqual([0, 1, 2]);
  });

  test("has rules that are named by code or plugin, on the command line and in configurations", async () => {
    project({ plugins: ["./lint/acme.mjs"], rules: { "acme/": "off", [code]: "info" } });
    const { models } = await bench.jsonOf(["m.onnx", "--select", code]);
    expect(models[0]?.findings.map(({ severity }) => severity)).toEqual(["info"]);
    expect((await bench.jsonOf(["m.onnx", "--ignore", "acme/"])).models[0]?.findings).toEqual([]);
    const { stderr, exitCode } = await bench.tcLint(["m.onnx", "--select", "acme/writen-hard-swish"]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`did you mean "${code}"?`)]);
    const unknown = await bench.tcLint(["m.onnx", "--no-config", "--select", code]);
    expect(unknown.stderr).toContain('no plugin "acme" is among the plugins of the configuration');
  });

  test("is off at nodes by overrides, and suppressed by counts", async () => {
    const overrides = [{ nodes: ["mul_0"], rules: { [code]: "off" }, reason: "exported elsewhere" }];
    project({ plugins: ["./lint/acme.mjs"], overrides });
    expect((await bench.jsonOf(["m.onnx", ...only])).models[0]).toMatchObject({
      findings: [],
      suppressed: 1,
    });
    project();
    expect((await bench.tcLint(["m.onnx", "--suppress-rule", code])).exitCode).toBe(0);
    expect((await bench.tcLint(["m.onnx", ...only])).exitCode).toBe(0);
  });

  test("keeps its fingerprints wherever the model lies", async () => {
    project();
    bench.folder.write("deep/n.onnx", hardSwishModel());
    const { models } = await bench.jsonOf(["m.onnx", "deep/n.onnx", ...only]);
    const [first, second] = models.map(({ findings }) => findings[0]?.fingerprint);
    expect(first).toMatch(/^[0-9a-f]{32}$/);
    expect(second).toBe(first);
  });

  test("is explained, and described in SARIF, without a page that is not there", async () => {
    project();
    const list = await bench.tcLint(["explain"]);
    expect(list.stdout).toMatch(/^acme\/written-hard-swish +warn +--fix +HardSwish that is/m);
    expect((await bench.tcLint(["explain", code])).stdout).toContain("Of the plugin acme (lint/acme.mjs)");
    const { stdout } = await bench.tcLint(["m.onnx", ...only, "-f", "sarif"]);
    const [run] = JSON.parse(stdout).runs;
    const rule = run.tool.driver.rules.find(({ id }: { id: string }) => id === code);
    expect(rule.shortDescription.text).toBe("HardSwish that is written as two nodes");
    expect(rule).not.toHaveProperty("helpUri");
    expect(run.results[0].ruleId).toBe(code);
  });
});

describe("A plugin's module", () => {
  const script = acme
    .replace(/^import \{(.*)\} from (.*);$/m, "const {$1} = require($2);")
    .replace("export default", "module.exports =");

  test("is a script of CommonJS, which needs no installation of tc-lint either", async () => {
    project({ plugins: ["./lint/acme.cjs"] });
    const lent = script.includes("require(") ? "" : 'const { definePlugin } = require("tc-lint/rules");\n';
    bench.folder.write("lint/acme.cjs", `${lent}${script}`);
    const { stdout, stderr } = await bench.tcLint(["m.onnx", ...only]);
    expect([stderr, stdout]).toEqual(["", expect.stringContaining(code)]);
  });

  test.each([
    ["by import alone", { ".": { types: "./x.d.ts", import: "./acme.js" } }, "tc-lint-acme"],
    [
      "by nested conditions",
      { ".": { import: { types: "./x.d.ts", default: "./acme.js" } } },
      "tc-lint-acme",
    ],
    ["without a path", { import: "./acme.js" }, "tc-lint-acme"],
    ["at a path", { "./lint": { import: "./acme.js" } }, "tc-lint-acme/lint"],
  ])("is of a package that exports it %s", async (_how, exports, name) => {
    project({ plugins: [name] });
    bench.folder.write("node_modules/tc-lint-acme/package.json", JSON.stringify({ type: "module", exports }));
    bench.folder.write("node_modules/tc-lint-acme/acme.js", acme);
    const { stdout, stderr } = await bench.tcLint(["m.onnx", ...only]);
    expect([stderr, stdout]).toEqual(["", expect.stringContaining(code)]);
  });

  test.each([
    ["is not there", undefined],
    ["says nothing that can be read", "{"],
    ["exports something else", '{ "exports": { "./other": { "import": "./acme.js" } } }'],
    ["exports what is not there", '{ "exports": { "import": "./gone.js" } }'],
  ])("is of no package that %s", async (_how, manifest) => {
    project({ plugins: ["tc-lint-acme"] });
    if (manifest !== undefined) bench.folder.write("node_modules/tc-lint-acme/package.json", manifest);
    const { stderr, exitCode } = await bench.tcLint(["m.onnx"]);
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining('"tc-lint-acme" is no installed package'),
    ]);
  });
});

describe("A plugin beside a model", () => {
  test("is not run, and the run says so", async () => {
    bench.folder.write("package.json", "{}");
    bench.folder.write("models/tc-lint.config.json", JSON.stringify({ plugins: ["./acme.mjs"] }));
    bench.folder.write("models/acme.mjs", "process.exit(77);");
    bench.folder.write("models/m.onnx", hardSwishModel());
    const { exitCode, stderr } = await bench.tcLint(["models/m.onnx"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain(
      'models/tc-lint.config.json: plugins: "./acme.mjs" is code, which a configuration beside a model may not have run; name it with --config',
    );
    const named = await bench.tcLint(["models/m.onnx", "--config", "models/tc-lint.config.json"]);
    expect(named.stderr).toContain("code that it ran called process.exit");
  });

  test("is not run where the working directory is in no project", async () => {
    bench.folder.write("tc-lint.config.json", JSON.stringify({ plugins: ["./acme.mjs"] }));
    bench.folder.write("acme.mjs", "process.exit(77);");
    bench.folder.write("m.onnx", hardSwishModel());
    expect((await bench.tcLint(["m.onnx"])).exitCode).toBe(2);
  });
});

describe("What is wrong with a plugin is named:", () => {
  test.each([
    ["one that is no plugin", "export default 1;", /acme\.mjs: default export: expected a plugin/],
    ["one that does not load", "throw new Error('oh');", /acme\.mjs: cannot be loaded: oh/],
    ["a rule of a bad name", pluginOf("").replace("tried", "Tried"), /rules\[0\]\.name: expected a kebab/],
    ["a rule that looks for nothing", pluginOf(""), /rules\[0\] \(tried\): expected either match or check/],
    ["a pattern that ends in no node", pluginOf("match: (p) => p.any()"), /a pattern ends in a node/],
    ["a fix without a pattern", pluginOf("check: () => [], fix() {}"), /tried\)\.fix: expected match beside/],
  ])("%s", async (_what, plugin, message) => {
    expect(await failing(plugin)).toMatch(message);
  });

  test.each([
    ["an error", "report() { throw new TypeError('oh'); }", /TypeError: oh \(\S*acme\.mjs:2:\d+\)/],
    [
      "a message that it lacks",
      "report: () => ({ message: 'none' })",
      /found the message "none", expected one of said/,
    ],
    [
      "a saving that is none",
      "cost: () => ({ microseconds: 1, low: 2, high: NaN })",
      /a saving of 1 µs between 2 and NaN/,
    ],
    ["a change of the graph", "report(match) { match.root.inputs.push(1); }", /TypeError: .*not extensible/],
  ])("%s, with the plugin, the rule, the model and the node", async (_what, part, message) => {
    const said = await failing(pluginOf(`match: (p) => p.op("Mul"), ${part}`));
    expect(said).toContain(
      'm.onnx: plugin "acme" (lint/acme.mjs): rule acme/tried failed at node "mul_0" (Mul): ',
    );
    expect(said).toMatch(message);
  });

  test("an error of one model fails that model alone, in threads too", async () => {
    const part = "report(match) { if (match.facts.label(match.root) === 'mul_1') throw new Error('oh'); }";
    project(undefined, pluginOf(`match: (p) => p.op("Mul"), ${part}`));
    bench.folder.write("n.onnx", hardSwishModel(2));
    const { exitCode, stdout } = await bench.tcLint(["m.onnx", "n.onnx", "-f", "json"]);
    expect(exitCode).toBe(2);
    const errors = JSON.parse(stdout).models.map(({ error }: { error: unknown }) => error);
    expect(errors).toEqual([null, expect.objectContaining({ code: "plugin-failed" })]);
  });

  test("two of one name", async () => {
    project({ plugins: ["./lint/acme.mjs", "./lint/other.mjs"] });
    bench.folder.write("lint/other.mjs", acme);
    const { stderr } = await bench.tcLint(["m.onnx"]);
    expect(stderr).toContain('lint/other.mjs: name: "acme" is the name of lint/acme.mjs, too');
  });

  test("a search that does not end", async () => {
    const many = `match: (p) => p.op("Mul", { x: p.anyOf(...Array.from({ length: 30_000 }, () => p.op("Neg"))) })`;
    expect(await failing(pluginOf(many))).toMatch(/failed at node "mul_0".*tried with 20\d+ parts and more/);
  });

  const endless = pluginOf('match: (p) => p.op("Mul"), report() { for (;;); }');
  // Before the limit the plugin has to be reached, on a busy machine, too.
  const stopped = 'linting it was stopped after 6 s in plugin "acme" (lint/acme.mjs): rule acme/';

  test("a loop that does not end, by the limit of time", async () => {
    expect(await failing(endless, "--timeout", "6")).toContain(`m.onnx: ${stopped}`);
  });

  test("a loop that does not end, in threads", async () => {
    project(undefined, endless);
    bench.folder.write("n.onnx", hardSwishModel(2));
    const { exitCode, stdout } = await bench.tcLint(["m.onnx", "n.onnx", "-f", "json", "--timeout", "6"]);
    expect(exitCode).toBe(2);
    const errors: { code: string; message: string }[] = JSON.parse(stdout).errors;
    expect(errors.map(({ code }) => code)).toEqual(["timeout", "timeout"]);
    for (const [index, { message }] of errors.entries())
      expect(message).toContain(`${["m", "n"][index]}.onnx: ${stopped}`);
  });
});

describe("A fix of a plugin", () => {
  test("is made where it saves time, and verified", async () => {
    project();
    const { stdout, exitCode } = await bench.tcLint(["m.onnx", "--fix", "--fix-output", "out.onnx"]);
    expect(exitCode).toBe(0);
    expect(stdout).toContain("plugins  acme/written-hard-swish: HardSigmoid, Mul in 1 place rewritten");
    expect(stdout).toContain("verified: with ONNX Runtime");
    expect((await bench.jsonOf(["out.onnx"])).models[0]).toMatchObject({ nodes: 1, findings: [] });
  });

  test("that computes something else is left out, and named", async () => {
    project(undefined, acme.replace('op: "HardSwish"', 'op: "Relu"'));
    const args = ["m.onnx", "--fix", "--fix-only", "--fix-output", "out.onnx"];
    const { stdout } = await bench.tcLint(args);
    expect(stdout).toContain(
      'plugins of "acme/written-hard-swish: mul_0" failed verification and is left out',
    );
    expect(stdout).toContain("the plugin's own");
    expect((await bench.jsonOf(["out.onnx", ...only])).models[0]?.nodes).toBe(2);
  });

  test.each([
    ["a value that nobody makes", 'inputs: ["nowhere"]', /its fix makes no valid model: .*nowhere/],
    [
      "another shape",
      'inputs: [match.value("x")], attributes: { perm: [1, 0, 2, 3] }',
      /"y" is \[1, 16, 56, 56\], and would be \[16, 1, 56, 56\]/,
    ],
  ])("of %s is refused, and named", async (_what, part, message) => {
    const op = part.includes("perm") ? "Transpose" : "HardSwish";
    const said = await failing(
      acme.replace('{ op: "HardSwish", inputs: [match.value("x")] }', `{ op: "${op}", ${part} }`),
    );
    expect(said).toMatch(/rule acme\/written-hard-swish failed at node "mul_0"/);
    expect(said).toMatch(message);
  });
});

describe("tc-lint explain-match", () => {
  test("says what a pattern took in", async () => {
    project();
    const { stdout, exitCode } = await bench.tcLint(["explain-match", code, "gate_0", "m.onnx"]);
    expect(stdout).toBe(
      `${code} fits at mul_0 (Mul)\n  nodes     HardSigmoid "gate_0", Mul "mul_0"\n  says      HardSwish is written as 2 nodes\n`,
    );
    expect(exitCode).toBe(0);
  });

  test("says what came nearest, and why it is none", async () => {
    project();
    bench.folder.write("m.onnx", hardSwishModel(1, 0.2));
    const { stdout, exitCode } = await bench.tcLint(["explain-match", code, "mul_0", "m.onnx"]);
    expect(stdout).toBe(`${code} does not fit at mul_0 (Mul)
  fits      HardSigmoid "gate_0", Mul "mul_0"
  misses    operand "gate" (input 1)
  expected  attribute alpha: 0.16666666666666666
  found     0.20000000298023224
`);
    expect(exitCode).toBe(1);
  });

  test.each([
    [["TC102", "mul_0"], /TC102 has no pattern: tc-lint explain TC102/],
    [[code, "mul_9"], /no node is named "mul_9"; did you mean "mul_0"\?/],
    [["acme/nothing", "mul_0"], /"acme\/nothing" is no rule/],
  ])("of %j says what there is", async (args, message) => {
    project();
    const { stderr, exitCode } = await bench.tcLint(["explain-match", ...args, "m.onnx"]);
    expect([exitCode, stderr]).toEqual([2, expect.stringMatching(message)]);
  });

  test("names the configuration that does not hold for the model", async () => {
    project();
    bench.folder.write("apart/package.json", "{}");
    const script = 'export default { plugins: ["../lint/acme.mjs"] };';
    bench.folder.write("apart/tc-lint.config.mjs", script);
    bench.folder.write("away/tc-lint.config.json", "{}");
    bench.folder.write("away/m.onnx", hardSwishModel());
    const cwd = `${bench.folder.path}/apart`;
    const asked = ["explain-match", code, "mul_0", "../away/m.onnx"];
    const found = await bench.tcLint(asked, { cwd });
    expect(found.exitCode).toBe(2);
    expect(found.stderr).toMatch(
      /^tc-lint: tc-lint\.config\.mjs: not used: it holds for models below its folder, and \.\.\/away\/m\.onnx has another or none; --config tc-lint\.config\.mjs uses it\n/,
    );
    const named = await bench.tcLint([...asked, "--config", "tc-lint.config.mjs"], { cwd });
    expect([named.exitCode, named.stderr]).toEqual([0, ""]);
  });
});
