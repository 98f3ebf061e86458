/** @file Rules of one's own: plugins that a configuration names, from a file to every report. */
import { describe, expect, test } from "vitest";
import { acme, hardSwishModel } from "../lint/plugin/models.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const only = ["--select", "acme/"];

function project(config: object = { plugins: ["./lint/acme.mjs"] }): void {
  bench.folder.write("package.json", "{}");
  bench.folder.write("lint/acme.mjs", acme);
  bench.folder.write("tc-lint.config.json", JSON.stringify(config));
  bench.folder.write("m.onnx", hardSwishModel());
}

describe("A plugin of the configuration", () => {
  test("is asked, and reports have its findings", async () => {
    project();
    const { stdout, stderr, exitCode } = await bench.tcLint(["m.onnx", ...only]);
    expect([stderr, exitCode]).toEqual(["", 1]);
    expect(stdout).toContain("acme/written-hard-swish");
    expect(stdout).toContain("HardSwish is written as 2 nodes");
  });
});
