/**
 * @file `--fix --no-verify` of a model of 1.6 GB: memory, and the speed of writing beside `cp` of the same file.
 *
 *   node scripts/build.mjs --no-types && node scripts/run.mjs bench/fix-large.ts [--out bench/results/fix-large.json]
 *
 * Both in one run, on one disk, in turns. The weights are put inside the model, so that all of it has to be written.
 * What `--diff` takes, which does everything but write, is subtracted. tc-lint brings its file to the disk before it takes the original's place, so `cp` is timed twice: as it is, and with
 * the same promise (`sync` of the copy).
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { inlineWeights } from "./inline.ts";

const { values } = parseArgs({
  options: { out: { type: "string" }, model: { type: "string", default: "video_unet_192" } },
});
const name = values.model;
const folder = mkdtempSync(join(tmpdir(), "tc-lint-large-"));
const rounds = 3;
const restMilliseconds = 5_000;

try {
  spawnSync(process.execPath, [resolve("../shared/zoo/materialize.mjs"), folder, name], { stdio: "inherit" });
  const model = join(folder, "model.onnx");
  inlineWeights(join(folder, `${name}.onnx`), model);
  rmSync(join(folder, `${name}.weights`));
  const megabytes = statSync(model).size / 1e6;
  const [copies, synced, fixes, peaks]: [number[], number[], number[], number[]] = [[], [], [], []];
  // Everything but writing: reading, linting, the passes.
  const thinking: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const copy = join(folder, "copy.onnx");
    settle();
    copies.push(timed(() => run("cp", [model, copy])));
    rmSync(copy);
    settle();
    synced.push(timed(() => run("sh", ["-c", 'cp "$0" "$1" && sync "$1"', model, copy])));
    rmSync(copy);
    const fixed = join(folder, "fixed.onnx");
    const args = [resolve("dist/bin/tc-lint.js"), "--fix-only", "--no-verify", "--fix-output", fixed, model];
    let peak = 0;
    settle();
    fixes.push(
      timed(() => (peak = run("/usr/bin/env", ["time", "-f", "peak %M", process.execPath, ...args]))),
    );
    peaks.push(peak / 1e3);
    thinking.push(
      timed(() => run(process.execPath, [resolve("dist/bin/tc-lint.js"), "--diff", "--no-verify", model], 1)),
    );
    rmSync(fixed);
  }
  const [copySeconds, syncedCopySeconds, fixSeconds] = [median(copies), median(synced), median(fixes)];
  const diffSeconds = median(thinking);
  const writeSeconds = fixSeconds - diffSeconds;
  const result = {
    megabytes,
    copySeconds,
    syncedCopySeconds,
    fixSeconds,
    diffSeconds,
    writeSeconds,
    writeSpeedToCopy: copySeconds / writeSeconds,
    writeSpeedToSyncedCopy: syncedCopySeconds / writeSeconds,
    wholeCommandToCopy: copySeconds / fixSeconds,
    peakMegabytes: Math.max(...peaks),
  };
  console.log(result);
  if (values.out !== undefined) {
    mkdirSync(dirname(values.out), { recursive: true });
    const command = `node scripts/run.mjs bench/fix-large.ts --model ${name} --out ${values.out}`;
    writeFileSync(values.out, `${JSON.stringify({ command, model: name, ...result }, null, 1)}\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Virtual disks take a burst and are slow after it: each of the three begins with a rested one. */
function settle(): void {
  run("sync", []);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, restMilliseconds);
}

/** Peak resident kilobytes where the command says so. Throws where it fails. */
function run(command: string, args: readonly string[], expected = 0): number {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: "utf8" });
  if (status !== expected)
    throw new Error(`${command} ${args.join(" ")}: exit ${status}\n${stdout}${stderr}`);
  return Number(/peak (\d+)/.exec(stderr)?.[1] ?? 0);
}

function timed(action: () => void): number {
  const start = performance.now();
  action();
  return (performance.now() - start) / 1000;
}

function median(times: readonly number[]): number {
  return [...times].sort((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}
