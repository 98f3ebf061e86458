/** @file File and node-name patterns: `*`, `**`, `?`, `[abc]`, `{a,b}` and `\` before a literal character. */

/** Longer patterns are refused: a pattern is typed by a person. */
const maxLength = 4096;
const maxAlternatives = 1000;

export function hasMagic(pattern: string): boolean {
  return /[*?[\]{}]/.test(pattern);
}

/**
 * Matches a path with `/` between its parts. A pattern without `/` matches the last part, in any folder.
 * `**` stands for any number of folders; a leading dot needs no pattern of its own.
 */
export function pathMatcher(pattern: string): (path: string) => boolean {
  const plain = pattern.replace(/^\.\//, "");
  const anywhere = !plain.replace(/\/$/, "").includes("/");
  // A folder stands for everything in it.
  const body = plain.endsWith("/") ? `${plain}**` : plain;
  const expression = new RegExp(
    `^(?:${alternatives(anywhere ? `**/${body}` : body, "path").join("|")})$`,
    "s",
  );
  return (path) => expression.test(path);
}

/** Matches a whole name, where `*` matches `/` and `.` too: `/encoder/*` is everything below. */
export function nameMatcher(pattern: string): (name: string) => boolean {
  const expression = new RegExp(`^(?:${alternatives(pattern, "name").join("|")})$`, "s");
  return (name) => expression.test(name);
}

/** The folder part of a pattern before its first special character: where a search starts. */
export function staticPrefix(pattern: string): string {
  const parts = pattern.split("/");
  const magic = parts.findIndex(hasMagic);
  return (
    parts.slice(0, magic < 0 ? parts.length - 1 : magic).join("/") || (pattern.startsWith("/") ? "/" : ".")
  );
}

type Mode = "path" | "name";

function alternatives(pattern: string, mode: Mode): string[] {
  if (pattern.length > maxLength) throw new RangeError(`a pattern has more than ${maxLength} characters`);
  const expanded = expandBraces(pattern);
  return expanded.map((each) => expressionOf(each, mode));
}

/** `a{b,c}d` to `abd` and `acd`, nested ones too; braces without a comma stay as they are. */
function expandBraces(pattern: string): string[] {
  const group = findGroup(pattern);
  if (group === undefined) return [pattern];
  const { start, end, options } = group;
  const [head, tail] = [pattern.slice(0, start), pattern.slice(end + 1)];
  const result = options.flatMap((option) => expandBraces(`${head}${option}${tail}`));
  if (result.length > maxAlternatives) {
    throw new RangeError(`the braces of a pattern have more than ${maxAlternatives} alternatives`);
  }
  return result;
}

/** The first pair of braces with a comma of its own. */
function findGroup(pattern: string): { start: number; end: number; options: string[] } | undefined {
  for (let start = pattern.indexOf("{"); start >= 0; start = pattern.indexOf("{", start + 1)) {
    if (pattern[start - 1] === "\\") continue;
    const options: string[] = [];
    let [depth, from] = [0, start + 1];
    for (let at = start; at < pattern.length; at++) {
      const character = pattern[at];
      if (character === "\\") at += 1;
      else if (character === "{") depth += 1;
      else if (character === "}") depth -= 1;
      if (depth === 1 && character === ",") {
        options.push(pattern.slice(from, at));
        from = at + 1;
      }
      if (depth > 0) continue;
      if (options.length > 0) return { start, end: at, options: [...options, pattern.slice(from, at)] };
      break;
    }
  }
  return undefined;
}

function expressionOf(pattern: string, mode: Mode): string {
  let expression = "";
  let at = 0;
  while (at < pattern.length) {
    const token = nextToken(pattern, at, mode);
    expression += token.expression;
    at += token.length;
  }
  return expression;
}

interface Token {
  readonly expression: string;
  readonly length: number;
}

function nextToken(pattern: string, at: number, mode: Mode): Token {
  const [any, one] = mode === "path" ? ["[^/]*", "[^/]"] : [".*", "."];
  const character = pattern[at] ?? "";
  if (character === "\\") return { expression: escapeLiteral(pattern[at + 1] ?? "\\"), length: 2 };
  if (character === "?") return { expression: one, length: 1 };
  if (character === "*") {
    const stars = /^\*+/.exec(pattern.slice(at))?.[0].length ?? 1;
    const isFolders = mode === "path" && stars >= 2 && (at === 0 || pattern[at - 1] === "/");
    if (isFolders && pattern[at + stars] === "/") return { expression: "(?:[^/]+/)*", length: stars + 1 };
    if (isFolders && at + stars === pattern.length) return { expression: ".*", length: stars };
    return { expression: any, length: stars };
  }
  if (character === "[") {
    const set = /^\[([!^]?)((?:\\.|[^\]\\])+)\]/s.exec(pattern.slice(at));
    // A set never matches the separator, negated or not.
    if (set !== null) {
      const negated = set[1] === "" ? "" : "^";
      const members = (set[2] ?? "").replaceAll(/\\(.)/gs, "$1").replaceAll(/[\\\]^[]/g, "\\$&");
      const guard = mode === "path" ? "(?!/)" : "";
      return { expression: `${guard}[${negated}${members}]`, length: set[0].length };
    }
  }
  return { expression: escapeLiteral(character), length: 1 };
}

function escapeLiteral(character: string): string {
  return character.replace(/[\\^$.*+?()[\]{}|/]/, "\\$&");
}
