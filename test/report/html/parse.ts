/** @file A page taken apart, strictly: what is neither a tag as templates write them nor text is an error. */

export interface Tag {
  readonly name: string;
  readonly isEnd: boolean;
  readonly attributes: ReadonlyMap<string, string>;
}

export interface Page {
  readonly tags: readonly Tag[];
  /** Between the tags, piece by piece; neither scripts nor styles. */
  readonly texts: readonly string[];
  readonly text: string;
  /** What script elements hold. */
  readonly scripts: readonly string[];
}

const token =
  /<!doctype html>|<(script|style)([^<>]*)>([\s\S]*?)<\/\1>|<(\/?)([a-z][a-z0-9]*)((?:\s+[a-z][\w-]*(?:="[^"<>]*")?|\s*)*)\s*\/?>|[^<>]+/giy;
const attribute = /([a-z][\w-]*)(?:="([^"]*)")?/giy;

export function parsePage(page: string): Page {
  const tags: Tag[] = [];
  const scripts: string[] = [];
  const texts: string[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < page.length) {
    const from = token.lastIndex;
    const match = token.exec(page);
    if (match === null) throw new Error(`neither tag nor text: ${page.slice(from, from + 80)}`);
    const [whole, raw, rawAttributes = "", inside = "", end, name, attributes = ""] = match;
    if (raw !== undefined) {
      tags.push({ name: raw, isEnd: false, attributes: attributesOf(rawAttributes) });
      if (raw.toLowerCase() === "script") scripts.push(inside);
    } else if (name !== undefined) {
      tags.push({ name, isEnd: end === "/", attributes: attributesOf(attributes) });
    } else if (!whole.startsWith("<")) texts.push(unescaped(whole));
  }
  return { tags, texts, text: texts.join(""), scripts };
}

function attributesOf(text: string): Map<string, string> {
  return new Map(
    [...text.matchAll(new RegExp(attribute, "gi"))].map(([, name = "", value = ""]) => [
      name,
      unescaped(value),
    ]),
  );
}

const entities: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&#96;": "`",
};

/** Throws where an ampersand starts none of the entities that are written. */
export function unescaped(text: string): string {
  return text.replaceAll(/&[^;]{0,8};?/g, (entity) => {
    const character = entities[entity];
    if (character === undefined) throw new Error(`no entity: ${entity}`);
    return character;
  });
}
