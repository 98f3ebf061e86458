/**
 * @file The two assertions that yargs makes, in place of the module assert in the bundle (scripts/build.mjs).
 *
 * Node reads four modules of its own for it, at every start; what yargs asserts is about yargs.
 */
export function strictEqual(actual: unknown, expected: unknown, message?: string): void {
  if (!Object.is(actual, expected)) throw new Error(message);
}

export function notStrictEqual(actual: unknown, expected: unknown, message?: string): void {
  if (Object.is(actual, expected)) throw new Error(message);
}
