/** @file What Node has and the page has not: reached all the same, it is a bug with a name, not an empty result. */

export class NotInBrowserError extends Error {
  override readonly name = "NotInBrowserError";

  constructor(api: string) {
    super(`tc-lint bug: ${api} is not there in a browser`);
  }
}

/** A function that only says what is missing. */
export function missing(api: string): () => never {
  return () => {
    throw new NotInBrowserError(api);
  };
}
