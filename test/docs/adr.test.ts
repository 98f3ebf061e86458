import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const folder = new URL("../../docs/adr/", import.meta.url);
const files = readdirSync(folder).filter((name) => name.endsWith(".md"));
const texts = new Map(files.map((name) => [name, readFileSync(new URL(name, folder), "utf8")]));

/** The lines from "Status:" to the next empty one. */
function statusOf(file: string): string {
  return /^Status: (.*?)\n\n/ms.exec(texts.get(file) ?? "")?.[1] ?? "";
}

function linksIn(text: string): string[] {
  return [...text.matchAll(/\]\((\d{4}-[^)]*\.md)\)/g)].map(([, link = ""]) => link);
}

describe("decisions", () => {
  it("are numbered without a gap", () => {
    expect(files.map((name) => Number(name.slice(0, 4)))).toEqual(files.map((_, index) => index + 1));
  });

  it.each(files)("%s says whether it holds, and since when", (file) => {
    expect(statusOf(file)).toMatch(/^(accepted|superseded), \d{4}-\d\d-\d\d/);
  });

  it.each(files)("%s and those that its status names agree on what became of them", (file) => {
    for (const other of linksIn(statusOf(file))) expect(linksIn(statusOf(other)), other).toContain(file);
  });
});
