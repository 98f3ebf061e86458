/** @file XML 1.0 from elements as data: whatever a name holds, what is written is well-formed and says it. */

export interface XmlElement {
  readonly name: string;
  /** What is undefined is left out. */
  readonly attributes: Readonly<Record<string, string | number | undefined>>;
  readonly children?: readonly XmlElement[];
  /** Lines between the tags; children and text do not go together. */
  readonly text?: readonly string[];
}

export function xmlText(root: XmlElement): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n${linesOf(root, "").join("\n")}\n`;
}

function linesOf({ name, attributes, children = [], text = [] }: XmlElement, indent: string): string[] {
  const parts = Object.entries(attributes).map(([key, value]) =>
    value === undefined ? "" : ` ${key}="${escaped(String(value))}"`,
  );
  const open = `${indent}<${name}${parts.join("")}`;
  if (text.length > 0) return [`${open}>${text.map(escaped).join("\n")}</${name}>`];
  if (children.length === 0) return [`${open}/>`];
  return [`${open}>`, ...children.flatMap((child) => linesOf(child, `${indent}  `)), `${indent}</${name}>`];
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&apos;",
};

/** What XML 1.0 has no way to say (2.2, Char), not by number either. */
const unsayable = /[\p{Cs}\ufffe\uffff]|(?![\t\n\r\u0085])\p{Cc}/u;

/**
 * For text and attributes alike. Line ends and marks of direction go by their numbers: a reader has them as they were, and a terminal that
 * shows the file does not obey them. What XML cannot say is spelt out.
 */
function escaped(text: string): string {
  return text.replaceAll(/[&<>"'\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\ufffe\uffff]/gu, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    const number = unsayable.test(character) ? `\\u${code.padStart(4, "0")}` : `&#x${code};`;
    return entities[character] ?? number;
  });
}
