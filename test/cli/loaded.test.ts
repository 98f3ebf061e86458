/** What every lint loads: parsing code takes a quarter of the time of a small model, so that what few runs need is imported where they need it. */
import { spawnSync } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build, type Metafile } from "esbuild";
import { beforeAll, expect, test } from "vitest";
import { lintFormatNames } from "../../src/report/registry.ts";
import { bytesOf, headModel } from "./models.ts";
import { useWorkbench } from "./workbench.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "../..");
/** What `tc-lint model.onnx` imports, one after another. */
const entries = ["src/cli/main.ts", "src/cli/run-lint.ts", "src/api/lint-file.ts"];
/** The text that a lint prints, what scripts ask for, and whose sizes a table of text has. */
const always = ["text", "json", "csv"];

const bench = useWorkbench();
let loaded: ReadonlySet<string> = new Set();

beforeAll(async () => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: entries,
    outdir: "nowhere",
    bundle: true,
    splitting: true,
    write: false,
    metafile: true,
    platform: "node",
    format: "esm",
    external: ["koffi", "onnxruntime-node"],
    alias: { "string-width": "./src/report/text-width.ts" },
    logLevel: "error",
  });
  loaded = reachedFrom(metafile);
});

function reachedFrom({ inputs }: Metafile): ReadonlySet<string> {
  const found = new Set(entries);
  for (const file of found)
    for (const { kind, path: imported } of inputs[file]?.imports ?? [])
      if (kind !== "dynamic-import") found.add(imported);
  return found;
}

test("formats are loaded where they are asked for", () => {
  const writers = lintFormatNames.map((name) => `src/report/${name}.ts`);
  expect(writers.filter((file) => loaded.has(file)).sort()).toEqual(
    always.map((name) => `src/report/${name}.ts`).sort(),
  );
  for (const other of ["bench", "verify", "validate", "ladder", "compare"])
    expect(loaded).not.toContain(`src/report/${other}-text.ts`);
});

test("packages that write protobuf, or colours, are not loaded", () => {
  const packages = [...loaded].filter((file) =>
    /node_modules\/(protobufjs|onnx-proto|long|chalk)\//.test(file),
  );
  expect(packages).toEqual([]);
});

test("Node's cryptography and threads are left alone: a lint names findings, hashes no file, and is over before it is watched", () => {
  bench.folder.write("head.onnx", bytesOf(headModel()));
  const listing = "process.on('exit', () => console.error(process.moduleLoadList.join('\\n')))";
  const args = ["--import", `data:text/javascript,${listing}`, bench.script, "head.onnx"];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: bench.folder.path,
    encoding: "utf8",
  });
  expect([status, stdout]).toEqual([1, expect.stringContaining("TC")]);
  const modules = stderr.split("\n");
  expect(modules).toContain("NativeModule fs");
  expect(modules).not.toContain("NativeModule crypto");
  expect(modules).not.toContain("NativeModule worker_threads");
});
