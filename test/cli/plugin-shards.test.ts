/** @file Shards of models that rules of a plugin look at: merged where its code is not, and only where all of them ran the same code. */
import { cpSync, readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { acme, hardSwishModel } from "../lint/plugin/models.ts";
import { bytesOf, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const formats = [
  "json",
  "sarif",
  "gitlab",
  "junit",
  "checkstyle",
  "rdjson",
  "markdown",
  "csv",
  "html",
  "agent",
];

/** The plugin's file imports a module, which imports a file of JSON; and it requires a script, which requires another. */
const parts = {
  "lint/acme.mjs": `import { words } from "./words.mjs";
import { createRequire } from "node:module";
import { basename } from "node:path";
createRequire(import.meta.url)("./first.cjs");
const own = words + basename("");
${acme}`,
  "lint/words.mjs":
    'import values from "./values.json" with { type: "json" };\nexport const words = values.join();',
  "lint/values.json": '["a"]',
  "lint/first.cjs": 'require("./second.cjs");',
  "lint/second.cjs": "module.exports = 1;",
  "package.json": "{}",
  "tc-lint.config.mjs": 'export default { plugins: ["./lint/acme.mjs"] };',
};

function project(folder = ""): void {
  for (const [name, text] of Object.entries(parts)) bench.folder.write(path.join(folder, name), text);
  for (const count of [1, 2, 3])
    bench.folder.write(path.join(folder, `models/${count}.onnx`), hardSwishModel(count));
  bench.folder.write(path.join(folder, "models/head.onnx"), bytesOf(headModel()));
}

const at = (name: string) => path.join(bench.folder.path, name);
const lint = (index: number, cwd = bench.folder.path) =>
  bench.tcLint(
    ["models", "--shard", `${index}/2`, "-f", `blob=${at(`${index}.blob`)}`, "--merge-as", "html,csv"],
    { cwd },
  );
const merge = (...args: readonly string[]) => bench.tcLint(["merge-reports", "1.blob", "2.blob", ...args]);

describe("merged shards of models with rules of plugins", () => {
  test("are the unsharded run, byte for byte, also where the plugin is not", async () => {
    project();
    const to = (name: string) => formats.flatMap((format) => ["-f", `${format}=${name}.${format}`]);
    const whole = await bench.tcLint(["models", "--no-color", "-f", "text", ...to("whole")]);
    expect(whole.stdout).toContain("acme/written-hard-swish");
    for (const index of [1, 2]) expect((await lint(index)).stderr).toBe("");
    for (const folder of ["lint", "models", "tc-lint.config.mjs"]) rmSync(at(folder), { recursive: true });
    expect(await merge("--no-color", "-f", "text", ...to("merged"))).toEqual(whole);
    for (const format of formats)
      expect(readFileSync(at(`merged.${format}`), "utf8")).toBe(readFileSync(at(`whole.${format}`), "utf8"));
  });

  test("are one run wherever each checkout lies", async () => {
    for (const folder of ["here", "there"]) project(folder);
    for (const [index, folder] of [
      [1, "here"],
      [2, "there"],
    ] as const)
      expect((await lint(index, at(folder))).stderr).toBe("");
    expect((await merge()).stderr).toBe("");
  });

  test("are refused where a file that the plugin is made of is another", async () => {
    project();
    await lint(1);
    for (const name of Object.keys(parts).filter((each) => each.startsWith("lint/"))) {
      bench.folder.write(name, name.endsWith(".json") ? '["b"]' : `${parts[name as keyof typeof parts]}\n;`);
      await lint(2);
      bench.folder.write(name, parts[name as keyof typeof parts]);
      const { exitCode, stderr } = await merge();
      const what = "the plugin lint/acme.mjs is other code on one machine than on the other";
      expect({ name, exitCode, stderr }).toEqual({
        name,
        exitCode: 2,
        stderr: expect.stringContaining(what),
      });
    }
  });

  test("are refused where one run had it alone", async () => {
    project();
    await lint(1);
    bench.folder.write("tc-lint.config.mjs", "export default {};");
    await lint(2);
    expect((await merge()).stderr).toContain("the plugin lint/acme.mjs is one machine's alone");
  });

  test("are one run where what they do not import differs", async () => {
    project();
    await lint(1);
    bench.folder.write("lint/notes.mjs", "export default 7;");
    cpSync(at("lint/acme.mjs"), at("lint/copy.mjs"));
    await lint(2);
    expect((await merge()).stderr).toBe("");
  });
});
