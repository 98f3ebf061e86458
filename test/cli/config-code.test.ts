/** @file Configurations that are code, as the README has them: in a new project, with no tc-lint among its packages. */
import { spawnSync } from "node:child_process";
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { bytesOf, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");
const [, name = "", example = ""] =
  /^```js\n\/\/ (\S+)\n(import \{ defineConfig \}.*?)^```$/ms.exec(readme) ?? [];
const readsTypeScript = "typescript" in process.features && process.features.typescript !== false;

beforeEach(() => {
  bench.folder.write("head.onnx", bytesOf(headModel()));
  const made = spawnSync("npm", ["init", "-y"], { cwd: bench.folder.path, encoding: "utf8" });
  expect(made.status).toBe(0);
});

const gpuOf = async () => (await bench.jsonOf(["head.onnx"])).models.map(({ target }) => target.gpu);

describe("the README's configuration", () => {
  test("works after npm init -y, without a local installation", async () => {
    expect(name).toBe("tc-lint.config.mjs");
    bench.folder.write(name, example);
    expect(await gpuOf()).toEqual(["l4"]);
  });

  test("gets the installed tc-lint where there is one", async () => {
    bench.folder.write(name, example);
    bench.folder.write(
      "node_modules/tc-lint/package.json",
      '{"name": "tc-lint", "type": "module", "exports": {"./config": "./config.js"}}',
    );
    bench.folder.write(
      "node_modules/tc-lint/config.js",
      'export const defineConfig = (config) => ({ ...config, gpu: "a100" });',
    );
    expect(await gpuOf()).toEqual(["a100"]);
  });

  test("named .js is told what to do, for npm init makes a package of CommonJS", async () => {
    bench.folder.write("tc-lint.config.js", "import 'node:fs';\nexport default {};");
    const { exitCode, stderr } = await bench.tcLint(["head.onnx"]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/config\.js: cannot be loaded: .*name it \.mjs, or set "type": "module"/);
  });

  test("hides no other package that is missing", async () => {
    bench.folder.write(name, 'import "tc-lint/other";\nexport default {};');
    const { exitCode, stderr } = await bench.tcLint(["head.onnx"]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain("tc-lint.config.mjs: cannot be loaded: Cannot find package 'tc-lint'");
  });
});

describe("TypeScript", () => {
  const typed = 'export default { gpu: "l4" as const };\n';

  test.runIf(readsTypeScript)("is read where Node reads it", async () => {
    bench.folder.write("tc-lint.config.mts", typed);
    expect(await gpuOf()).toEqual(["l4"]);
  });

  test.skipIf(readsTypeScript)("is named where Node does not read it", async () => {
    bench.folder.write("tc-lint.config.ts", typed);
    const { exitCode, stderr } = await bench.tcLint(["head.onnx"]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(
      /tc-lint\.config\.ts: is TypeScript, which Node reads from version 22\.18 on, and this is v/,
    );
  });

  test("beside a model is not run", async () => {
    mkdirSync(path.join(bench.folder.path, "models"));
    bench.folder.write("models/tc-lint.config.ts", "throw new Error('run');");
    bench.folder.write("models/head.onnx", bytesOf(headModel()));
    const { stderr } = await bench.tcLint(["models/head.onnx"]);
    expect(stderr).toContain("models/tc-lint.config.ts: not run: it is code beside a model");
  });
});
