import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { sharedPath } from "../shared.ts";
import { type NodeTestResult, runNodeTest } from "./node-tests.ts";

const archive = sharedPath("onnx-node-tests", "node-tests.tar.xz");

describe.skipIf(archive === undefined)("ONNX's own operator tests", () => {
  let folder = "";
  let results: readonly NodeTestResult[] = [];

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), "tc-lint-node-tests-"));
    execFileSync("tar", ["-xJf", archive ?? "", "-C", folder]);
    results = readdirSync(folder).map((test) => runNodeTest(folder, test));
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("are all there", () => {
    expect(results.length).toBeGreaterThan(1300);
  });

  it("hold no operator that tc-lint does not know, and none that it calls wrong", () => {
    expect(results.flatMap(({ test, skipped }) => skipped.map((reason) => `${test}: ${reason}`))).toEqual([]);
  });

  it("declare what inference infers, with and without the elements of the inputs", () => {
    const contradictions = results.flatMap(({ test, contradictions }) =>
      contradictions.map((text) => `${test}: ${text}`),
    );
    expect(contradictions).toEqual([]);
  });

  it("have outputs whose types inference tells in full, wherever types alone can", () => {
    const outputs = results.flatMap(({ test, outputs }) => outputs.map((output) => ({ ...output, test })));
    const known = outputs.filter((output) => output.known);
    const fromData = outputs.filter((output) => !output.known && output.knownFromData);
    const unknown = outputs.filter((output) => !output.known && !output.knownFromData);
    const share = known.length / (known.length + unknown.length);
    console.log(
      [
        `${outputs.length} tensor outputs: ${known.length} known from types, ${unknown.length} not (${(100 * share).toFixed(1)} % known);`,
        `excluded, because the shape follows from the elements of an input: ${fromData.length}`,
        [...new Set(fromData.map(({ test }) => test))].join(", "),
        "not known:",
        unknown.map(({ test, name }) => `${test}: ${name}`).join(", "),
      ].join("\n"),
    );
    expect(share).toBeGreaterThanOrEqual(0.95);
    // The exclusion must stay the exception.
    expect(fromData.length).toBeLessThan(outputs.length * 0.15);
  });
});
