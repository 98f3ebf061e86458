/** `tc-lint compare --jobs`: the same to the byte however many pairs are compared at once. */
import { renameSync, rmSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { network } from "../compare/models.ts";
import { lfsPointer } from "./models.ts";
import { commitAll, git } from "./repository.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const at = (name: string) => path.join(bench.folder.path, name);

test("pairs keep their order: changed, moved, new, gone, broken and fetched by nobody", {
  timeout: 240_000,
}, async () => {
  git(bench.folder.path, "init", "-q");
  for (let index = 0; index < 7; index++)
    bench.folder.write(`models/${index}.onnx`, network({ widths: [256, 256 + index, 512] }));
  commitAll(bench.folder.path);
  for (const index of [1, 2, 3])
    bench.folder.write(`models/${index}.onnx`, network({ widths: [256, 250, 512 + index] }));
  renameSync(at("models/4.onnx"), at("models/z.onnx"));
  rmSync(at("models/5.onnx"));
  bench.folder.write("models/6.onnx", "broken");
  bench.folder.write("models/7.onnx", network({ widths: [128, 130, 256] }));
  bench.folder.write("models/8.onnx", lfsPointer);
  const runs = [];
  for (const jobs of ["1", "2", "5"])
    runs.push(
      await bench.tcLint([
        ...["compare", "--base", "HEAD", "models", "--stack", "cudnn", "--gpu", "h200,l4"],
        ...["--verbose", "-f", "json", "--jobs", jobs],
      ]),
    );
  const [one, ...more] = runs;
  expect(one?.exitCode).toBe(2);
  const { models, unchanged } = JSON.parse(one?.stdout ?? "");
  const order = [...new Set(models.map((model: { readonly path: string }) => model.path))];
  const names = ["1", "2", "3", "6", "7", "8", "z", "5"];
  expect(order).toEqual(names.map((name) => `models/${name}.onnx`));
  expect(unchanged).toEqual(["models/0.onnx"]);
  for (const run of more) expect(run).toEqual(one);
});

test("what takes too long is stopped in its thread, and the rest is compared", async () => {
  git(bench.folder.path, "init", "-q");
  for (const name of ["a", "b"]) bench.folder.write(`${name}.onnx`, network());
  commitAll(bench.folder.path);
  for (const name of ["a", "b"]) bench.folder.write(`${name}.onnx`, network({ widths: [256, 250, 512] }));
  const { exitCode, stdout } = await bench.tcLint([
    ...["compare", "--base", "HEAD", ".", "--jobs", "2", "--timeout", "0.001", "-f", "json"],
  ]);
  expect(exitCode).toBe(2);
  const { models } = JSON.parse(stdout);
  for (const { error } of models) expect(error).toMatchObject({ code: "timeout" });
});
