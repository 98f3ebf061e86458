/**
 * @file Networks that two exporters wrote: what each file is predicted to take on each stack, step by step.
 *
 *     node scripts/run.mjs bench/twins.ts > bench/results/twins.md
 *
 * X.onnx and X_dynamo.onnx of ../shared/zoo, in FP16 on an H200. test/lint/zoo/twins.ts holds every row to its bounds.
 */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { type StackId, stackIds, stacks } from "../src/hardware/stacks.ts";
import { duration } from "../src/ir/format.ts";
import { explainedRatio, ratioOf, type TwinStep, twinHalves, twinSteps } from "./twin-accounts.ts";
import { withMasks } from "./twin-files.ts";

const zoo = resolve("..", "shared", "zoo");
const files = new Set(readdirSync(zoo));
const names = [...files].flatMap((file) => {
  const name = /^(.*)_dynamo\.onnx$/.exec(file)?.[1];
  return name !== undefined && files.has(`${name}.onnx`) ? [name] : [];
});

const folder = mkdtempSync(join(tmpdir(), "tc-lint-twins-"));
process.on("exit", () => rmSync(folder, { recursive: true }));

/** Shares that are said of a ratio: below it nothing is worth a line. */
const worthSaying = 0.005;

async function rowsOf(name: string, stack: StackId): Promise<string[]> {
  const [script = "", dynamo = ""] = [`${name}.onnx`, `${name}_dynamo.onnx`].map((file) =>
    withMasks(join(zoo, file), folder),
  );
  const steps = await twinSteps(script, dynamo, stack);
  const half = await twinHalves(script, dynamo, stack);
  // What is left of the account explains the file that is written, too: its author changes the same.
  const behind = steps.findLast(({ step }) => step !== "author")?.causes ?? new Map<string, number>();
  const all: readonly TwinStep[] = half === undefined ? steps : [...steps, { ...half, causes: behind }];
  return all.map((each) => {
    const { step, script: own, dynamo: other } = each;
    const ratio = ratioOf(each);
    const said = Math.abs(ratio - 1) > worthSaying;
    const why = said ? [...each.causes].filter(([, us]) => Math.abs(us) > worthSaying * own) : [];
    const causes = why.map(([code, us]) => `${code} ${us > 0 ? "+" : "−"}${duration(Math.abs(us))}`);
    const rest = said && why.length > 0 ? explainedRatio(each).toFixed(3) : "";
    const cells = [name, step === "kept" ? "written in half" : step, duration(own), duration(other)];
    return `| ${[...cells, ratio.toFixed(3), causes.join(", "), rest].join(" | ")} |`;
  });
}

console.log(`# One network, exported twice

\`node scripts/run.mjs bench/twins.ts > bench/results/twins.md\`

What the files of TorchScript's and dynamo's exporters are predicted to take in FP16 on an H200, after each step of the account, and as
\`--fix --precision fp16\` writes them. A cause is a rule: what its findings of later steps claim of the first file, less what they claim of the
second, or \`fp16\`, the same of computing in it; the last column is the ratio without them. What was measured of both files stands in
truth.md and truth-stacks.md. Networks without a line "written in half" need their weights for it; of weights, causal masks alone are here.

swin_tiny's TC410 is work that is in the file: TorchScript's has 24 Slices that give out all that they take in, beside 15 Pads by nothing that both have;
without these, after safe fixes, both take the same. ONNX Runtime 1.30 runs all 39: the file that it writes of its own optimizations (optimizedModelFilePath,
at any level) has them, for it drops a Slice whose end is the largest integer, and not one whose end is the size (test/workload/idle-nodes.test.ts).
`);
for (const stack of stackIds) {
  console.log(`## ${stack}\n\n${stacks[stack].name}\n`);
  console.log(
    "| network | step | TorchScript | dynamo | ratio | causes | without |\n|---|---|--:|--:|--:|---|--:|",
  );
  for (const name of names) console.log((await rowsOf(name, stack)).join("\n"));
  console.log("");
}
