/** README.md shows what the tool says of a model; its first screens are made here. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BuiltCli, buildCli, runCli } from "../cli-process.ts";
import { isWholeZoo, zooModel } from "../zoo.ts";

const root = path.join(import.meta.dirname, "..", "..");
const page = readFileSync(path.join(root, "README.md"), "utf8");

let cli: BuiltCli;
beforeAll(() => {
  cli = buildCli();
});
afterAll(() => cli[Symbol.dispose]());

/** The block of the page that begins with this line; the page leaves out what follows its last line. */
function block(first: string): string {
  const text = page.split("```").find((each) => each.trimStart().startsWith(`${first}\n`));
  return text?.trim() ?? `no block of README.md begins with "${first}"`;
}

/** As it is printed, the model by its name alone. */
async function said(...args: readonly string[]): Promise<string> {
  const { stdout } = await runCli(cli, ["--no-color", "--exit-zero", ...args]);
  return stdout.replace(/^\S*\/(\w+\.onnx)$/m, "$1");
}

describe("README's example of", () => {
  test("one model is all that the first command says of it", async () => {
    const model = "fixtures/zoo/misaligned_cnn.onnx";
    const { stdout } = await runCli(cli, ["--no-color", "--exit-zero", model], { cwd: root });
    expect(page).toContain(`node dist/bin/tc-lint.js --exit-zero ${model}\n`);
    expect(stdout.trim()).toBe(block(model));
  });

  test("a plan is what is said of it", async () => {
    const model = path.join(root, "fixtures", "zoo", "misaligned_cnn.onnx");
    const { stdout } = await runCli(cli, ["--no-color", "bench", "--plan", "--no-fix", model]);
    const expected = block("misaligned_cnn.onnx for h200, fp16 as exported, batch=1").replace(/\n…$/, "");
    const text = stdout.slice(stdout.indexOf("misaligned_cnn.onnx"));
    expect(text.slice(0, expected.length)).toBe(expected);
  });

  test.skipIf(!isWholeZoo)("several sizes and GPUs is what is said of them", async () => {
    const text = await said(zooModel("resnet50"), "--dim", "batch=1,32", "--gpu", "l4,h200");
    const expected = block("resnet50.onnx");
    expect(text.slice(0, expected.length)).toBe(expected);
  });
});

test("no example runs whatever version is newest", () => {
  const { version } = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
  const docs = readdirSync(path.join(root, "docs")).filter((name) => name.endsWith(".md"));
  const pages = [page, ...docs.map((name) => readFileSync(path.join(root, "docs", name), "utf8"))];
  const commands = pages.flatMap((text) => text.match(/^(?!.*`npx tc-lint`).*\bnpx .*tc-lint.*$/gm) ?? []);
  expect(commands.length).toBeGreaterThan(5);
  for (const command of commands)
    expect(command).toMatch(
      new RegExp(`npx (--no -- tc-lint\\b|--yes tc-lint@${version.replaceAll(".", "\\.")} )`),
    );
  for (const [, named] of pages.join("\n").matchAll(/tc-lint(?:@|-)v?(\d+\.\d+\.\d+)/g))
    expect(named).toBe(version);
});

test("the kernels that doctor counts are those that a build makes", () => {
  const kernels = path.join(root, "cuda-runtime", "kernels");
  const sources = readdirSync(kernels, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => ({ name, file: path.join(kernels, name, `${name}.cu`) }))
    .filter(({ file }) => existsSync(file) && !/^\s*\/\/ on demand$/m.test(readFileSync(file, "utf8")));
  // As a folder lists their files.
  const built = sources.map(({ name }) => `${name}.fatbin`).sort();
  const first = built.slice(0, 6).map((name) => name.slice(0, -".fatbin".length));
  expect(page).toContain(`kernels: ${built.length} families: ${first.join(", ")}, …`);
});
