/** @file The way out: what is written to stdout arrives there, or the command fails. Imports nothing: `--version` waits for it. */

/** What stdout did not take. */
export class StdoutError extends Error {
  override readonly name = "StdoutError";
}

/** Resolves once the text is handed to the system. A reader that went away (`| head`) is no error. Throws StdoutError. */
export async function writeStdout(text: string): Promise<void> {
  if (text === "") return;
  await new Promise<void>((resolve, reject) => {
    const settle = (error: Error | null | undefined) => {
      if (error === null || error === undefined || codeOf(error) === "EPIPE") resolve();
      else reject(new StdoutError(`stdout cannot be written to (${codeOf(error)})`, { cause: error }));
    };
    // The stream says it twice; without a listener the second time ends the process with a stack.
    process.stdout.once("error", settle);
    process.stdout.write(text, (error) => {
      settle(error);
      if (error === null || error === undefined) process.stdout.off("error", settle);
    });
  });
}

/** For what goes to stdout by another way: where it does not arrive, the process ends with 2. */
export function guardStdout(): void {
  process.stdout.on("error", (error) => {
    if (codeOf(error) === "EPIPE") return;
    process.exitCode = 2;
  });
  // Where stderr is gone too, nobody is left to be told.
  process.stderr.on("error", () => {});
}

function codeOf(error: Error): string {
  return "code" in error ? String(error.code) : error.message;
}
