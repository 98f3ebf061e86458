/** What a user sees first of one model fits a terminal. */
import { describe, expect, it } from "vitest";
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

it("the launches that lint counts on the bundled runtime are those of bench --plan", async () => {
  const target = ["--gpu", "h200", zooModel("resnet50")];
  const linted = await bench.tcLint(["--stack", "tc-runtime", "-f", "json", ...target]);
  const planned = await bench.tcLint(["bench", "--plan", "--no-fix", "-f", "json", ...target]);
  const [plan]: { steps: unknown[] }[] = JSON.parse(planned.stdout);
  const { models }: { models: { findings: { code: string; data: { kernels?: number } }[] }[] } = JSON.parse(
    linted.stdout,
  );
  const tiny = models[0]?.findings.find(({ code }) => code === "TC405");
  expect(tiny?.data.kernels).toBe(plan?.steps.length);
  expect(plan?.steps.length).toBeGreaterThan(50);
});
