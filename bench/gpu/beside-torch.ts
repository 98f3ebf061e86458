/** @file Rows of times beside PyTorch's on the same work, which ../shared/peers/torch_ops.py measures. */
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { likePeer, type Sampling, sustained } from "../../cuda-runtime/session/kernel-timer.ts";

/** How ours are timed: as PyTorch's where these stand beside them. `peers` is the folder of its script. */
export function samplingBeside(peers: string | undefined): Sampling {
  return peers === undefined ? sustained : likePeer;
}

export interface TimedRow {
  /** What torch_ops.py reads. */
  readonly op: Readonly<Record<string, string | number | boolean>>;
  readonly name: string;
  readonly us: number;
  /** TFLOP/s or GB/s. */
  readonly rate: string;
  readonly kernel: string;
  /** The largest of sampled elements, absolute. */
  readonly error: number;
}

/** Prints rows, with PyTorch's times and the geometric mean of ratios where its script is there; writes $OUT/NAME.json. */
export function report(name: string, rows: readonly TimedRow[], peers: string | undefined): void {
  const out = process.env["OUT"] ?? ".";
  writeFileSync(path.join(out, `${name}-ops.json`), JSON.stringify(rows.map(({ op }) => op)));
  // PyTorch takes its time: where it takes too long, what was measured is there.
  if (peers !== undefined) writeFileSync(path.join(out, `${name}.json`), JSON.stringify(rows, null, 1));
  const times =
    peers === undefined
      ? undefined
      : peerTimes(
          rows.map(({ op }) => op),
          peers,
        );
  const whole = rows.map((row, index) => ({ ...row, peerUs: times?.[index] ?? null }));
  for (const row of whole) show(row);
  const ratios = whole.flatMap(({ us, peerUs }) => (peerUs === null ? [] : [peerUs / us]));
  if (ratios.length > 0) {
    console.log(`${name}: ${geometricMean(ratios).toFixed(3)}x of PyTorch over ${ratios.length} rows`);
  }
  writeFileSync(path.join(out, `${name}.json`), JSON.stringify(whole, null, 1));
}

function show({
  name,
  us,
  rate,
  kernel,
  error,
  peerUs,
}: TimedRow & { readonly peerUs: number | null }): void {
  const ratio = peerUs === null ? "" : ` (${(peerUs / us).toFixed(2)}x of ${peerUs})`;
  console.log(`${name}: ${us.toFixed(2)} us${ratio}, ${rate}, error ${error.toExponential(1)}, ${kernel}`);
}

/** PyTorch's microseconds, in the order of the operations. */
export function peerTimes(ops: readonly object[], folder: string): (number | null)[] {
  const child = spawnSync("python3", [path.join(folder, "torch_ops.py")], {
    input: JSON.stringify(ops),
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  if (child.status !== 0) throw new Error(`torch_ops.py: ${child.stderr.slice(-2000)}`);
  const times: { us: number | null }[] = JSON.parse(child.stdout);
  return times.map(({ us }) => us);
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((total, value) => total + Math.log(value), 0) / values.length);
}
