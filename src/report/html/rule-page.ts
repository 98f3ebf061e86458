/** @file A rule's page: the Markdown that pages of rules are written in, and no more of it. */
import type { RuleDoc } from "../render.ts";
import { ruleTitle } from "../rule-title.ts";
import { html, type Markup, type Part } from "./markup.ts";

export function rulePages(docs: readonly RuleDoc[]): Markup {
  if (docs.length === 0) return html``;
  return html`<section class="rules" aria-labelledby="rules"><h2 id="rules">Rules</h2>${docs.map(
    ({ code, name, summary, markdown }) =>
      html`<details id="rule-${code}"><summary><h3>${ruleTitle(code, name)}</h3> <span class="dim">${summary}</span></summary><div class="prose">${markdownMarkup(
        markdown,
      )}</div></details>`,
  )}</section>`;
}

/** Headings, fenced code, lists and paragraphs. */
export function markdownMarkup(markdown: string): Markup {
  const blocks: Markup[] = [];
  // Fences hold blank lines: whole blocks first.
  for (const part of markdown.split(/^(```[^\n]*\n[\s\S]*?^```)$/m)) {
    const fenced = /^```[^\n]*\n([\s\S]*?)```$/.exec(part);
    if (fenced !== null) blocks.push(html`<pre tabindex="0"><code>${lines(fenced[1] ?? "")}</code></pre>`);
    else
      for (const block of part.split(/\n{2,}|(?<=^#+ .*)\n|\n(?=#+ |- )/m))
        blocks.push(blockMarkup(block.trim()));
  }
  return html`${joinLists(blocks)}`;
}

/** Line ends stay line ends: of everything else, control characters are spelt out. */
function lines(text: string): Part {
  return text.split("\n").map((line) => [
    line,
    html`
`,
  ]);
}

const itemStart = "<li>";

function blockMarkup(block: string): Markup {
  if (block === "") return html``;
  const heading = /^(#+) (.*)$/.exec(block);
  if (heading !== null) return html`<h4>${inline(heading[2] ?? "")}</h4>`;
  if (block.startsWith("- ")) return html`<li>${inline(block.slice(2))}</li>`;
  return html`<p>${inline(block)}</p>`;
}

function joinLists(blocks: readonly Markup[]): Markup[] {
  const isItem = (block: Markup | undefined) => block?.text.startsWith(itemStart) === true;
  const shown = blocks.filter(({ text }) => text !== "");
  return shown.map((block, index) => {
    if (!isItem(block)) return block;
    const [before, after] = [isItem(shown[index - 1]), isItem(shown[index + 1])];
    return html`${before ? "" : html`<ul>`}${block}${after ? "" : html`</ul>`}`;
  });
}

/** Code and links; a link to another page stays its text. */
function inline(text: string): Part {
  const flat = text.replaceAll(/\s*\n\s*/g, " ");
  return flat.split(/(`[^`]+`|\[[^\]]+\]\([^)]+\))/).map((part): Part => {
    if (part.startsWith("`") && part.endsWith("`") && part.length > 2)
      return html`<code>${part.slice(1, -1)}</code>`;
    const link = /^\[([^\]]+)\]\(([^)]+)\)$/.exec(part);
    if (link === null) return part;
    const [, name = "", address = ""] = link;
    return /^https:\/\//.test(address) ? html`<a href="${address}" rel="noreferrer">${name}</a>` : name;
  });
}
