/**
 * @file A process that fixes a model, for write.test.ts: node bundle.mjs MODEL STEP TURN ACTION
 *
 * At the TURN-th time of STEP it is killed, asked to end by a signal, or waits to be killed.
 */
import { InputError } from "../../src/ir/errors.ts";
import { fixOnce } from "./write-fix.ts";

const [model = "", step = "", turn = "1", action = "kill"] = process.argv.slice(2);
let left = Number(turn);

try {
  await fixOnce(model, {
    onStep: (current) => {
      if (current !== step) return;
      left -= 1;
      if (left !== 0) return;
      // Asked to end: what runs now goes on until the process looks up.
      if (action.startsWith("SIG")) return void process.kill(process.pid, action);
      if (action === "kill") process.kill(process.pid, "SIGKILL");
      // Until the parent kills it: a signal to the own process may take a moment to arrive.
      process.stdout.write(`at ${step}\n`);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    },
  });
  process.stdout.write("done\n");
} catch (error) {
  process.stdout.write(error instanceof InputError ? `${error.code}\n` : `${String(error)}\n`);
  process.exitCode = 1;
}
