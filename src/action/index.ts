/** @file The Action's executable: reads what the runner hands over, does one of its two halves, and says how it went. */
import { resolve } from "node:path";
import { complainOfBug } from "../cli/stderr.ts";
import { guardStdout, writeStdout } from "../cli/stdout.ts";
import { statOf } from "../files/look.ts";
import { InputError } from "../ir/errors.ts";
import { limitMemoryBy } from "../ir/memory.ts";
import { groupMemoryBytes } from "../limits/control-group.ts";
import { inputErrorOf } from "../onnx/surroundings.ts";
import { trustCheckout } from "./checkout.ts";
import { postCarried } from "./comment.ts";
import { readEvent } from "./event.ts";
import { inputs, readInputs } from "./inputs.ts";
import { command } from "./protocol.ts";
import { review } from "./review.ts";

guardStdout();
process.exitCode = await run();

async function run(): Promise<number> {
  limitMemoryBy(groupMemoryBytes);
  try {
    const { env } = process;
    const given = readInputs(env);
    // Whatever the run starts, or a model's configuration does, has no use for it.
    Reflect.deleteProperty(env, "INPUT_TOKEN");
    enterFolder(env["GITHUB_WORKSPACE"], given.workingDirectory);
    const step = { inputs: given, event: readEvent(env), env };
    if (given.mode === "review") return await review(step, new URL("../worker.js", import.meta.url));
    await postCarried(step);
    return 0;
  } catch (error) {
    const input = inputErrorOf(error);
    if (input === undefined)
      complainOfBug(error instanceof Error ? (error.stack ?? error.message) : String(error));
    await writeStdout(
      command("error", input === undefined ? "a bug in tc-lint: see the log" : ofInput(input.message)),
    );
    return 2;
  }
}

/** What a flag of the command line is blamed for is the input of its name. */
function ofInput(message: string): string {
  const [, name = ""] = /^--([a-z-]+): /.exec(message) ?? [];
  return Object.hasOwn(inputs, name) ? message.slice(2) : message;
}

/** Throws InputError. */
function enterFolder(workspace = process.cwd(), below = "."): void {
  const folder = resolve(workspace, below);
  const seen = statOf(folder);
  if (typeof seen === "string" || !seen.isDirectory())
    throw new InputError("usage", `working-directory: found "${below}", expected a folder of the checkout`);
  process.chdir(folder);
  trustCheckout(process.env, workspace, folder);
}
