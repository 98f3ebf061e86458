import { describe, expect, it } from "vitest";
import { errorsOf, predictFiles } from "../../bench/onnx-file.ts";
import { sharedPath } from "../shared.ts";

const zoo = sharedPath("zoo");

describe.skipIf(zoo === undefined)("predicted time of ONNX files", () => {
  it("is near what their nodes take on cuBLAS and cuDNN", () => {
    const rows = predictFiles(zoo ?? "");
    expect(rows.length).toBeGreaterThan(45);
    const { median, ninetieth, inside } = errorsOf(rows);
    expect(median).toBeLessThan(0.06);
    expect(ninetieth).toBeLessThan(0.15);
    // What is called a 90 % interval.
    expect(inside / rows.length).toBeGreaterThan(0.9);
  });
});
