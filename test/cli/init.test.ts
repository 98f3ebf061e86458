/** @file `tc-lint init`: what a team begins with, and that nothing of theirs is lost. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { Ajv } from "ajv";
import { beforeEach, describe, expect, test } from "vitest";
import { schemaFor } from "../../src/cli/config-schema.ts";
import { initFiles } from "../../src/cli/init-files.ts";
import { version } from "../../src/version.ts";
import { bytesOf, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const require = createRequire(import.meta.url);
const bench = useWorkbench();
const at = (name: string) => path.join(bench.folder.path, name);
const read = (name: string) => readFileSync(at(name), "utf8");
const isConfig = new Ajv({ allowUnionTypes: true }).compile(require("../../schemas/config.schema.json"));

const [config, hook, workflow] = [
  "tc-lint.config.json",
  ".pre-commit-config.yaml",
  ".github/workflows/tc-lint.yml",
];

describe("tc-lint init", () => {
  beforeEach(() => {
    mkdirSync(at(".git"));
    bench.folder.write("sub/a.onnx", bytesOf(headModel()));
  });

  test("takes one target, as its help says", async () => {
    const { exitCode } = await bench.tcLint(["init", "--gpu", "l4,a100"]);
    expect(exitCode).toBe(2);
    const { stdout } = await bench.tcLint(["init", "--help"]);
    expect(stdout).toContain("--gpu");
    expect(stdout).not.toMatch(/several|in turn/);
  });

  test("writes a configuration, a hook and a workflow, and says so", async () => {
    const { exitCode, stdout, stderr } = await bench.tcLint(["init", "--gpu", "l4", "--stack", "tensorrt"]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    for (const file of [config, hook, workflow]) expect(stdout).toContain(`wrote: ${file}\n`);
    const settings = JSON.parse(read(config));
    isConfig(settings);
    expect(isConfig.errors).toBeNull();
    expect(settings).toMatchObject({ gpu: "l4", stack: "tensorrt" });
    await expect(read(hook).replaceAll(version, "VERSION")).toMatchFileSnapshot(
      "__snapshots__/init-hook.yaml",
    );
    await expect(read(workflow).replaceAll(version, "VERSION")).toMatchFileSnapshot(
      "__snapshots__/init-workflow.yaml",
    );
    expect((await bench.jsonOf(["sub/a.onnx"])).models[0]?.target).toMatchObject({
      gpu: "l4",
      stack: "tensorrt",
    });
  });

  test.each([".", "sub"])(
    "in %s, names the schema of the package that is installed above",
    async (folder) => {
      const file = "node_modules/tc-lint/schemas/config.schema.json";
      bench.folder.write(file, readFileSync(require.resolve("../../schemas/config.schema.json")));
      await bench.tcLint(["init"], { cwd: at(folder) });
      const { $schema } = JSON.parse(read(path.join(folder, config)));
      expect($schema).toMatch(/^\.{1,2}\//);
      expect(path.resolve(at(folder), $schema)).toBe(at(file));
    },
  );

  test("names a schema that is there: a release's page, else this program's own, else none", () => {
    const own = require.resolve("../../schemas/config.schema.json");
    const page = "https://github.com/octo/tc-lint/raw/v1.0.0/schemas/config.schema.json";
    const here = at(".");
    expect(schemaFor(here, { page, own })).toBe(page);
    expect(path.resolve(here, schemaFor(here, { page: undefined, own }) ?? "")).toBe(own);
    expect(schemaFor(here, { page: undefined, own: at("none.json") })).toBeUndefined();
    // As it is here, be it in a release or in a checkout.
    const found = schemaFor(here) ?? "";
    expect(found).not.toContain("example.com");
    if (!found.startsWith("https:")) expect(path.resolve(here, found)).toBe(own);
  });

  test("of a release that has the Action, the workflow uses it, and hands on what a fork may not post", async () => {
    const own = { hook: false, workflow: true, schema: undefined, action: "octo/tc-lint-built" };
    const [, file] = initFiles({ gpu: "l4", stack: "ort-cuda", ...own }, [config]);
    expect(file?.path).toBe(workflow);
    await expect(file?.text.replaceAll(version, "VERSION")).toMatchFileSnapshot(
      "__snapshots__/init-action-workflow.yaml",
    );
    const outputs = [...(file?.text.matchAll(/outputs\.([\w-]+)/g) ?? [])].map(([, name]) => name);
    expect(outputs).toEqual(["comment-file", "comment-file"]);
  });

  test("leaves what is there, and shows what goes into it; --force replaces it", async () => {
    bench.folder.write(config, '{"gpu": "a100"}');
    bench.folder.write(hook, "repos: []\n");
    const { exitCode, stdout } = await bench.tcLint(["init", "--no-workflow"]);
    expect([exitCode, read(config), read(hook)]).toEqual([0, '{"gpu": "a100"}', "repos: []\n"]);
    expect(stdout).toContain(`left: ${config} is there (--force replaces it)\n`);
    expect(stdout).toContain("      - id: tc-lint\n");
    expect(existsSync(at(workflow))).toBe(false);
    expect((await bench.tcLint(["init", "--force"])).stdout).toContain(`replaced: ${config}\n`);
    expect(read(hook)).toContain("id: tc-lint");
  });

  test("writes no second configuration, not with --force either", async () => {
    bench.folder.write("tc-lint.config.mjs", "export default {};");
    const { stdout } = await bench.tcLint(["init", "--force", "--no-hook", "--no-workflow"]);
    expect(stdout).toContain("left: tc-lint.config.mjs configures this folder already\n");
    expect(existsSync(at(config))).toBe(false);
  });

  test("in a folder of a repository, configures the folder; hook and workflow lie at the root", async () => {
    const { stdout } = await bench.tcLint(["init"], { cwd: at("sub") });
    expect(stdout).toContain(`wrote: ../${hook}\n`);
    expect([`sub/${config}`, hook, workflow].map((file) => existsSync(at(file)))).toEqual([true, true, true]);
  });

  test("refuses a GPU that nobody knows, before it writes anything", async () => {
    const { exitCode, stderr } = await bench.tcLint(["init", "--gpu", "h2000"]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining('found "h2000"')]);
    expect(existsSync(at(config))).toBe(false);
  });

  test.skipIf(spawnSync("pre-commit", ["--version"]).status !== 0)("pre-commit reads the hook", async () => {
    await bench.tcLint(["init"]);
    expect(spawnSync("pre-commit", ["validate-config", at(hook)], { encoding: "utf8" }).stderr).toBe("");
  });
});

describe("tc-lint completion", () => {
  const offered = async (...words: string[]) =>
    (await bench.tcLint(["--get-yargs-completions", "tc-lint", ...words], { env: { SHELL: "bash" } })).stdout
      .trim()
      .split("\n");

  test("knows commands, their flags, and those of the command that is left out", async () => {
    expect(await offered("")).toEqual(expect.arrayContaining(["lint", "explain", "init", "completion"]));
    expect(await offered("--supp")).toEqual(expect.arrayContaining(["--suppress-all", "--fix"]));
    expect(await offered("model.onnx", "--supp")).toEqual(expect.arrayContaining(["--suppress-all"]));
    expect(await offered("explain", "--")).toEqual(expect.not.arrayContaining(["--suppress-all"]));
    expect(await offered("completion", "")).toEqual(expect.arrayContaining(["bash", "zsh", "fish"]));
  });

  test.each([
    [
      ["--format", ""],
      ["text", "gitlab", "blob"],
    ],
    [
      ["compare", "-f", ""],
      ["text", "markdown"],
    ],
    [
      ["validate", "--format", ""],
      ["text", "json"],
    ],
    [
      ["explain", "-f", ""],
      ["text", "json"],
    ],
    [
      ["model.onnx", "--gpu", ""],
      ["h200", "l4"],
    ],
    [
      ["--gpu", "l4,a"],
      ["l4,a100", "l4,h200"],
    ],
    [["--gpu=l4,a"], ["--gpu=l4,a100"]],
    // As bash parts it.
    [["--stack", "=", "ten"], ["tensorrt"]],
    [
      ["--stack", "="],
      ["tensorrt", "cudnn"],
    ],
    [
      ["--select", "TC1"],
      ["TC101", "misaligned-gemm"],
    ],
    [
      ["explain", ""],
      ["TC101", "misaligned-gemm"],
    ],
    [
      ["bench", "--precision", ""],
      ["fp16", "fp32"],
    ],
    [
      ["--fail-on", ""],
      ["error", "fixable"],
    ],
    [["--layout", ""], ["nhwc"]],
  ])("offers values: %j", async (words, values) => {
    const found = await offered(...words);
    expect(found).toEqual(expect.arrayContaining(values));
    expect(found).not.toContain("--fix");
    const taken = words.at(-1) === "l4,a" ? ["l4,l4"] : ["lint"];
    for (const each of taken) expect(found).not.toContain(each);
  });

  test("refuses other shells", async () => {
    const { exitCode, stderr } = await bench.tcLint(["completion", "tcsh"]);
    expect([exitCode, stderr]).toEqual([2, expect.stringContaining("expected one of bash, zsh, fish")]);
  });

  const questions = {
    bash: `source "$1"; COMP_WORDS=(tc-lint --supp); COMP_CWORD=1; _tc_lint_completions; echo "\${COMPREPLY[@]}"
COMP_WORDS=(tc-lint --gpu = l4,b); COMP_CWORD=3; _tc_lint_completions; echo "\${COMPREPLY[@]}"
COMP_WORDS=(tc-lint --stack =); COMP_CWORD=2; _tc_lint_completions; echo "\${COMPREPLY[@]}"`,
    fish: 'source "$argv[1]"; complete -C "tc-lint --supp"',
    // What zsh's own completion does needs a terminal: the script is read, not asked.
    zsh: 'zsh -n "$1" && echo --suppress-all',
  } as const;
  test.each(Object.entries(questions))("%s takes its script, where it is here", async (shell, question) => {
    if (spawnSync(shell, ["-c", "true"]).status !== 0) return console.warn(`skipped: there is no ${shell}`);
    const script = bench.folder.write("script", (await bench.tcLint(["completion", shell])).stdout);
    const tool = bench.folder.write(
      "bin/tc-lint",
      `#!/bin/sh\nexec "${process.execPath}" "${bench.script}" "$@"\n`,
    );
    spawnSync("chmod", ["+x", tool]);
    const env = { PATH: `${path.dirname(tool)}:${process.env["PATH"]}`, HOME: bench.folder.path };
    const args = shell === "bash" ? ["-c", question, "bash", script] : ["-c", question, script];
    const { stdout } = spawnSync(shell, shell === "zsh" ? ["-c", question, "zsh", script] : args, {
      env,
      encoding: "utf8",
    });
    expect(stdout).toContain("--suppress-all");
    if (shell === "bash") expect(stdout).toMatch(/l4,b200.*tensorrt/s);
  });
});
