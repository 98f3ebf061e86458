/** What a user sees first of one model fits a terminal. */
import { describe, expect } from "vitest";
import { rowsOf } from "../../src/report/fold.ts";
import { eachModel, zooModel, zooNames } from "../zoo.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
const screen = { rows: 25, columns: 120 };

describe("the first screen", () => {
  eachModel(zooNames)("%s", async (name) => {
    const { stdout } = await bench.tcLint([zooModel(name), "--no-color"]);
    const lines = stdout.trimEnd().split("\n");
    expect(rowsOf(lines, screen.columns)).toBeLessThanOrEqual(screen.rows);
    // What matters most is there in full, with what it saves.
    if (/\d+ (error|warning)/.test(lines.join("\n")))
      expect(stdout).toMatch(/^ {2}(error|warn|info) {2,3}TC\d{3} /m);
  });
});
