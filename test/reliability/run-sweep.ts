/** @file Bundles the sweep and its injector, and runs one. */
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { bundle } from "../bundle.ts";
import type { SweepAnswer, SweepRequest } from "./sweep.ts";

/** Of a command line that is built; `root` is the checkout. Throws where the sweep itself does not come to its end. */
export async function runSweep(request: Omit<SweepRequest, "injector">, root?: string): Promise<SweepAnswer> {
  using sweep = await bundle("test/reliability/sweep.ts", root);
  using injector = await bundle("test/reliability/injector.ts", root);
  const child = spawn(
    process.execPath,
    [sweep.path, JSON.stringify({ ...request, injector: injector.path } satisfies SweepRequest)],
    { stdio: ["ignore", "pipe", "inherit"], env: { PATH: process.env["PATH"], TMPDIR: tmpdir() } },
  );
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => {
    text += part;
  });
  const status = await new Promise<number | null>((resolve) => child.once("close", resolve));
  if (status !== 0) throw new Error(`the sweep ended with ${status}`);
  return JSON.parse(text);
}
