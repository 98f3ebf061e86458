/**
 * @file Reads XML 1.0 as strictly as the recommendation has it, as far as reports need: elements, attributes, text, the five entities and
 * character references. Comments, CDATA and document types are refused; so is every character that XML cannot have.
 */
import { spawnSync } from "node:child_process";

export interface ReadElement {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly ReadElement[];
  readonly text: string;
}

const declaration = '<?xml version="1.0" encoding="UTF-8"?>\n';
const tag = /<(\/?)([A-Za-z][\w-]*)((?:\s+[A-Za-z][\w-]*="[^"<]*")*)\s*(\/?)>/y;
const attribute = /\s+([A-Za-z][\w-]*)="([^"<]*)"/g;

interface Open {
  readonly name: string;
  readonly attributes: Record<string, string>;
  readonly children: ReadElement[];
  text: string;
}

/** Throws where it is not well-formed. */
export function readXml(xml: string): ReadElement {
  if (!xml.startsWith(declaration)) throw new Error("no declaration");
  checkCharacters(xml);
  const top: Open = { name: "", attributes: {}, children: [], text: "" };
  const stack: Open[] = [top];
  for (let at = declaration.length; at < xml.length; ) {
    const open = stack.at(-1) ?? top;
    if (xml[at] !== "<") {
      const end = xml.indexOf("<", at) < 0 ? xml.length : xml.indexOf("<", at);
      open.text += unescaped(xml.slice(at, end), false);
      at = end;
      continue;
    }
    tag.lastIndex = at;
    const match = tag.exec(xml);
    if (match === null) throw new Error(`no tag at ${at}: ${xml.slice(at, at + 40)}`);
    at = tag.lastIndex;
    const [, closing, name = "", attributes = "", empty] = match;
    if (closing === "/") {
      if (stack.pop()?.name !== name || stack.length === 0) throw new Error(`</${name}> closes nothing`);
    } else {
      const element: Open = { name, attributes: attributesOf(attributes), children: [], text: "" };
      open.children.push(element);
      if (empty !== "/") stack.push(element);
    }
  }
  const [root, ...more] = top.children;
  if (root === undefined || more.length > 0 || stack.length !== 1 || top.text.trim() !== "")
    throw new Error("expected one element, closed");
  return root;
}

function attributesOf(text: string): Record<string, string> {
  const attributes = new Map<string, string>();
  for (const [, name = "", value = ""] of text.matchAll(attribute)) {
    if (attributes.has(name)) throw new Error(`${name} is there twice`);
    attributes.set(name, unescaped(value, true));
  }
  return Object.fromEntries(attributes);
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

function unescaped(text: string, isAttribute: boolean): string {
  if (text.includes("]]>")) throw new Error("]]> outside of CDATA");
  // Raw line ends and tabs in an attribute become spaces (XML 1.0, 3.3.3), in text line ends become one (2.11).
  const normal = isAttribute ? text.replaceAll(/[\t\r\n]/g, " ") : text.replaceAll(/\r\n?/g, "\n");
  return normal.replaceAll(/&(?:#x([0-9a-f]+);|#(\d+);|([a-z]+);)?/g, (whole, hex, decimal, name) => {
    if (name !== undefined && Object.hasOwn(entities, name)) return entities[name] ?? "";
    if (hex === undefined && decimal === undefined) throw new Error(`"${whole}" is no reference`);
    const character = String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16));
    checkCharacters(character);
    return character;
  });
}

/** XML 1.0, 2.2: what a document may hold, be it as such or by number. */
function checkCharacters(text: string): void {
  const wrong = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.exec(text);
  if (wrong !== null)
    throw new Error(`U+${wrong[0].codePointAt(0)?.toString(16)} is no character of XML (at ${wrong.index})`);
}

/** A reader that is not ours: libxml2's, with a schema; undefined where the machine has none. */
export function xmllintOf(schema: string): ((xml: string) => string) | undefined {
  if (spawnSync("xmllint", ["--version"]).status !== 0) return undefined;
  return (xml) => {
    const { status, stderr } = spawnSync("xmllint", ["--noout", "--nonet", "--schema", schema, "-"], {
      input: xml,
      encoding: "utf8",
    });
    return status === 0 ? "" : stderr;
  };
}
