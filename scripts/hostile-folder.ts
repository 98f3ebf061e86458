/**
 * @file What tc-lint takes for a folder that is made to be hostile (test/reliability/hostile-folder.ts): time and memory of each
 * command, in the process itself.
 *
 *   node scripts/run.mjs scripts/hostile-folder.ts
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { buildCli, runCli } from "../test/cli-process.ts";
import { buildHostileFolder, quick, readingCommands } from "../test/reliability/hostile-folder.ts";

const root = realpathSync(mkdtempSync(path.join(tmpdir(), "tc-lint-hostile-")));
const probe = pathToFileURL(path.resolve("bench/probe.mjs")).href;
try {
  using cli = buildCli(process.cwd());
  mkdirSync(path.join(root, "tmp"));
  using hostile = await buildHostileFolder(root);
  const configured = hostile.configured.map((name) => [
    "--diff",
    ...quick,
    `download/configured/${name}/model.onnx`,
  ]);
  for (const args of [...readingCommands, ...configured, ["--fix", "download/models", ...quick]]) {
    const began = performance.now();
    const env = { TMPDIR: path.join(root, "tmp") };
    const { exitCode, cpuSeconds, peakBytes } = await runCli(cli, args, { cwd: hostile.home, env, probe });
    const seconds = (performance.now() - began) / 1000;
    const figures = [
      `${seconds.toFixed(1)} s`,
      `${cpuSeconds.toFixed(1)} s CPU`,
      `${(peakBytes / 1e6).toFixed(0)} MB`,
    ];
    console.log(`${figures.join(", ")}, exit code ${exitCode}: tc-lint ${args.join(" ")}`);
  }
} finally {
  rmSync(root, { recursive: true, force: true });
}
