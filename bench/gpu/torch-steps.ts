/** @file What PyTorch takes for the same work, by torch_steps.py in the same run. */
import { spawnSync } from "node:child_process";

export interface PeerTime {
  /** Microseconds of a call, eager operators replayed as one CUDA graph. */
  readonly us: number;
  /** (largest − smallest) / median of its replays. */
  readonly spread: number;
}

/** In the order of the operations; null for one that PyTorch did not run, and for all without a script. */
export function timesBeside(ops: readonly object[], script: string | undefined): (PeerTime | null)[] {
  if (script === undefined) return ops.map(() => null);
  const child = spawnSync("python3", [script], {
    input: JSON.stringify(ops),
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  if (child.status !== 0) throw new Error(`${script}: ${child.stderr.slice(-2000)}`);
  const times: { us: number | null; spread: number; error?: string }[] = JSON.parse(child.stdout);
  return times.map(({ us, spread, error }) => {
    if (error !== undefined) console.error(`PyTorch: ${error}`);
    return us === null ? null : { us, spread };
  });
}
