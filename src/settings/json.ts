/** @file JSON that somebody wrote by hand: what is wrong with it, and where, without repeating what it says. */

/** Says where a text stops being JSON; the text itself is not in the message, for it may be a secret of another kind of file. */
export class JsonError extends Error {
  override readonly name = "JsonError";
}

/** Throws JsonError. */
export function parseJson(text: string): unknown {
  const plain = text.replace(/^\uFEFF/, "");
  try {
    return JSON.parse(plain);
  } catch (error) {
    const [, digits] = /at position (\d+)/.exec(error instanceof Error ? error.message : "") ?? [];
    throw new JsonError(`is not valid JSON${digits === undefined ? "" : placeOf(plain, Number(digits))}`);
  }
}

/** ` (line 3, column 7)`. */
function placeOf(text: string, position: number): string {
  const before = text.slice(0, position).split("\n");
  return ` (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`;
}
