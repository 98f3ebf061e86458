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
    if (plain.trim() === "") throw new JsonError("is not valid JSON: it is empty");
    const [, digits] = /at position (\d+)/.exec(error instanceof Error ? error.message : "") ?? [];
    // Without a position it is the end that comes too early.
    throw new JsonError(`is not valid JSON${placeOf(plain, Number(digits ?? plain.length))}`);
  }
}

/** ` (line 3, column 7)`. */
function placeOf(text: string, position: number): string {
  const before = text.slice(0, position).split("\n");
  return ` (line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1})`;
}

/**
 * Comments, and commas before a closing bracket, become spaces: places in the text stay what they are. In one pass over it, whatever
 * it is: a pattern that looks for an end would look again from each place that could be a beginning.
 */
export function withoutComments(text: string): string {
  const kept: string[] = [];
  /** Of the last comma that nothing but space came after. */
  let comma: number | undefined;
  for (let at = 0; at < text.length; ) {
    const end = endOfPart(text, at);
    const part = text.slice(at, end);
    if (part.startsWith("//") || part.startsWith("/*")) kept.push(part.replaceAll(/[^\n]/g, " "));
    else {
      if ((part === "]" || part === "}") && comma !== undefined) kept[comma] = " ";
      if (part.trim() !== "") comma = part === "," ? kept.length : undefined;
      kept.push(part);
    }
    at = end;
  }
  return kept.join("");
}

/** Where a comment, a string or a single character ends; what is not closed ends with the text. */
function endOfPart(text: string, start: number): number {
  const two = text.slice(start, start + 2);
  if (two === "//") return orEnd(text, text.indexOf("\n", start));
  if (two === "/*") return orEnd(text, text.indexOf("*/", start + 2), 2);
  if (text[start] !== '"') return start + 1;
  let at = start + 1;
  while (at < text.length && text[at] !== '"' && text[at] !== "\n") at += text[at] === "\\" ? 2 : 1;
  return Math.min(text.length, at + (text[at] === '"' ? 1 : 0));
}

function orEnd(text: string, found: number, length = 0): number {
  return found < 0 ? text.length : found + length;
}
