/** @file A file that no runtime loads: protobuf ends at 2 GiB. */
import path from "node:path";
import { expect, it } from "vitest";
import { writeLargeModel } from "../onnx/large-model.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();

it("is linted with a note, and repaired at no time", async () => {
  writeLargeModel(path.join(bench.folder.path, "large.onnx"), 3 * 2 ** 30);
  const limit = /the file has 3221225\d+ bytes, and protobuf reads at most 2 GiB: no runtime loads it/;
  const { stdout } = await bench.tcLint(["large.onnx", "--no-color", "--exit-zero"]);
  expect(stdout).toMatch(limit);
  for (const flags of [[], ["--no-verify"]]) {
    const { exitCode, stderr } = await bench.tcLint(["--fix", "large.onnx", ...flags]);
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(limit);
  }
  const { stdout: json } = await bench.tcLint(["--fix", "large.onnx", "-f", "json"]);
  expect(JSON.parse(json).fixes).toMatchObject([{ written: false, error: { code: "too-large" } }]);
});
