/** @file Ctrl-C while models are compared: what was staged is removed, and the process ends as shells expect. */

/** 128 + SIGINT, as shells have it. */
export const interruptedExitCode = 130;

export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

/**
 * Settles as `work` does, or throws Interrupted on SIGINT. Before and after, the signal ends the process at once: a
 * pass does not stop for anything, and every step of writing may be the last (what it leaves, the next run clears up).
 */
export async function interruptible<T>(work: Promise<T>): Promise<T> {
  let stop = () => {};
  const interrupted = new Promise<never>((_, reject) => {
    stop = () => reject(new Interrupted());
  });
  process.once("SIGINT", stop);
  try {
    return await Promise.race([work, interrupted]);
  } finally {
    process.removeListener("SIGINT", stop);
  }
}
