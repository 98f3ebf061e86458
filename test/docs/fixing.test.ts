/** docs/fixing.md shows why products are left as they are: its lines are those of exports. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BuiltCli, buildCli, runCli } from "../cli-process.ts";

const root = path.join(import.meta.dirname, "..", "..");
const page = readFileSync(path.join(root, "docs", "fixing.md"), "utf8");

let cli: BuiltCli;
beforeAll(() => {
  cli = buildCli();
});
afterAll(() => cli[Symbol.dispose]());

test("what is left is said as --diff says it", async () => {
  const shown = page.match(/^ {2}left .*$/gm) ?? [];
  const models = ["crnn", "sd_unet", "dlrm"].map((name) =>
    path.join(root, "fixtures", "zoo", `${name}.onnx`),
  );
  const { stdout } = await runCli(cli, [
    "--no-color",
    "--no-config",
    "--stack",
    "cudnn",
    "--diff",
    ...models,
  ]);
  const { stdout: standard } = await runCli(cli, ["--no-color", "--no-config", "--diff", ...models]);
  const said = new Set(`${stdout}\n${standard}`.split("\n"));
  expect(shown).toHaveLength(3);
  for (const line of shown) expect(said).toContain(line);
});
