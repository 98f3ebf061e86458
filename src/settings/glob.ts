/**
 * @file File and node-name patterns: `*`, `**`, `?`, `[abc]`, `{a,b}`, `{1..3}` and `\` before a literal character.
 *
 * Patterns may come with a model, beside which a configuration is read, so that matching is by minimatch 11, which
 * does not backtrack: as regular expressions, a dozen stars take hours. What it would leave unexpanded without a word, and what
 * braces multiply, is refused here.
 */
import { braceExpand, Minimatch } from "minimatch";
import { InputError } from "../ir/errors.ts";

/** Longer patterns are refused: a pattern is typed by a person. */
const maxLength = 4096;
const maxBraces = 32;
const maxAlternatives = 1000;
/** Characters of all alternatives together: what matching one name costs is in proportion. */
const maxExpandedLength = 65_536;
/** Of a pattern in a message. */
const maxShown = 80;

/** Matchers are asked for again with each model. */
const maxRemembered = 1000;
const remembered = new Map<string, (text: string) => boolean>();

/** No file or node has it in its name: what was UTF-8 holds no half of a surrogate pair. */
const sentinel = "\ud800";

const plain = {
  dot: true,
  nobrace: true,
  nocomment: true,
  noext: true,
  nonegate: true,
  platform: "linux",
  preserveMultipleSlashes: true,
} as const;

export function hasMagic(pattern: string): boolean {
  return /[*?[\]{}]/.test(pattern);
}

/**
 * Matches a path with `/` between its parts. A pattern without `/` matches the last part, in any folder.
 * `**` stands for any number of folders; a leading dot needs no pattern of its own. Throws RangeError where a pattern is
 * too long, or stands for too many.
 */
export function pathMatcher(pattern: string): (path: string) => boolean {
  return remember(`path ${pattern}`, () => {
    const relative = pattern.replace(/^\.\//, "");
    const anywhere = !relative.replace(/\/$/, "").includes("/");
    // A folder stands for everything in it.
    const body = relative.endsWith("/") ? `${relative}**` : relative;
    const matchers = expand(anywhere ? `**/${body}` : body).map(
      (each) => new Minimatch(withPlainDots(each), plain),
    );
    return (path) => {
      const text = withPlainDots(path);
      return matchers.some((matcher) => matcher.match(text));
    };
  });
}

/** Matches a whole name, where `*` matches `/` and `.` too: `/encoder/*` is everything below. Throws like pathMatcher. */
export function nameMatcher(pattern: string): (name: string) => boolean {
  return remember(`name ${pattern}`, () => {
    const options = { ...plain, noglobstar: true };
    const matchers = expand(pattern).map((each) => new Minimatch(asOnePart(each), options));
    return (name) => {
      const text = asOnePart(name);
      return matchers.some((matcher) => matcher.match(text));
    };
  });
}

/** Matches a path by `*`, `**`, `?`, `[abc]` and `\\` alone, as Git does: braces are characters. */
export function matchesPlainly(pattern: string): (path: string) => boolean {
  const matcher = new Minimatch(withPlainDots(pattern), plain);
  return (path) => matcher.match(withPlainDots(path));
}

/** A matcher; `where` is the flag or the file at fault. Throws InputError `bad-pattern` where it cannot be one. */
export function compilePattern<T>(pattern: string, compiler: (pattern: string) => T, where: string): T {
  try {
    return compiler(pattern);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    const shown = pattern.length > maxShown ? `${pattern.slice(0, maxShown)}…` : pattern;
    throw new InputError("bad-pattern", `${where}: "${shown}" is no pattern: ${reason}`, { cause: error });
  }
}

/** The folder part of a pattern before its first special character: where a search starts. */
export function staticPrefix(pattern: string): string {
  const parts = pattern.split("/");
  const magic = parts.findIndex(hasMagic);
  return (
    parts.slice(0, magic < 0 ? parts.length - 1 : magic).join("/") || (pattern.startsWith("/") ? "/" : ".")
  );
}

/** `..` is a folder like any other: a model may lie beside the folder that patterns are relative to. */
function withPlainDots(path: string): string {
  return path.replaceAll(/(?<=^|\/)\.\.?(?=\/|$)/g, `${sentinel}$&`);
}

function asOnePart(name: string): string {
  return sentinel + name.replaceAll("/", sentinel);
}

function expand(pattern: string): string[] {
  if (pattern.length > maxLength) throw new RangeError(`a pattern has more than ${maxLength} characters`);
  const backwards = backwardsRange(pattern);
  if (backwards !== undefined) throw new RangeError(`the range ${backwards} runs backwards`);
  const braces = pattern.split("{").length - 1;
  if (braces > maxBraces) throw new RangeError(`a pattern has more than ${maxBraces} pairs of braces`);
  const alternatives = braceExpand(pattern, { braceExpandMax: maxAlternatives + 1 });
  if (alternatives.length > maxAlternatives) {
    throw new RangeError(`the braces of a pattern have more than ${maxAlternatives} alternatives`);
  }
  const length = alternatives.reduce((sum, each) => sum + each.length, 0);
  if (length > maxExpandedLength) {
    throw new RangeError(`the alternatives of a pattern have more than ${maxExpandedLength} characters`);
  }
  return alternatives;
}

/** A slip that would match nothing, without a word. */
function backwardsRange(pattern: string): string | undefined {
  for (const [, members = ""] of pattern.matchAll(/\[[!^]?((?:\\.|[^\]\\])+)\]/gsu)) {
    for (const [range, from = "", to = ""] of members.matchAll(/(\\.|[^\\])-(\\.|[^\\])/gsu)) {
      if (codePoint(from) > codePoint(to)) return range;
    }
  }
  return undefined;
}

/** Of a character, escaped or not. */
function codePoint(member: string): number {
  const character = member.length > 1 && member.startsWith("\\") ? member.slice(1) : member;
  return character.codePointAt(0) ?? 0;
}

function remember(key: string, make: () => (text: string) => boolean): (text: string) => boolean {
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const made = make();
  if (remembered.size >= maxRemembered) remembered.clear();
  remembered.set(key, made);
  return made;
}
