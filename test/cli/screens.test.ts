/** What a user sees first of one model fits a terminal. */
import { describe, expect } from "vitest";
import { eachModel, zooModel, zooNames } from "../zoo.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const screenLines = 25;

describe("the first screen", () => {
  eachModel(zooNames)("%s", async (name) => {
    const { stdout } = await bench.tcLint([zooModel(name), "--no-color"]);
    const lines = stdout.trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(screenLines);
    // What matters most is there in full, with what it saves.
    if (/\d+ (error|warning)/.test(lines.join("\n")))
      expect(stdout).toMatch(/^ {2}(error|warn|info) {2,3}TC\d{3} /m);
  });
});
