/**
 * @file A process that fixes a model, for write.test.ts: node bundle.mjs MODEL STEP TURN ACTION
 *
 * At the TURN-th time of STEP it is killed, waits to be killed, or goes on when told to.
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
      if (action === "interrupt") process.kill(process.pid, "SIGINT");
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
