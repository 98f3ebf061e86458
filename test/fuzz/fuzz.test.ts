/**
 * Damaged models through everything that tc-lint does with one. `npm run fuzz` goes on for as long as it is let; what it
 * has found stays here.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Corpus } from "./corpus.ts";
import { minimize } from "./minimize.ts";
import { type Mode, modes, runMode } from "./modes.ts";
import { caseOf, runCase } from "./run.ts";

const crashes = join(import.meta.dirname, "crashes");

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "tc-lint-fuzz-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("What was a crash is refused by name or answered", () => {
  it.each(readdirSync(crashes))("%s", async (name) => {
    const bytes = Buffer.from(readFileSync(join(crashes, name), "utf8"), "base64");
    for (const mode of modes) expect(await runMode(mode, bytes, folder)).toMatch(/^[a-z-]+$/);
  });
});

it("Damaged models are refused by name or answered", { timeout: 300_000 }, async () => {
  const corpus = new Corpus(join(import.meta.dirname, "nowhere"));
  const reached = new Set<Mode>();
  let answered = 0;
  for (let run = 0; run < 800; run++) {
    const { code, mode, error } = await runCase(caseOf(corpus, 20_261_122, run), folder);
    expect(`run ${run}: ${error ?? code}`).not.toMatch(/Error|bug/);
    reached.add(mode);
    if (["done", "planned", "fixed", "unchanged"].includes(code)) answered += 1;
  }
  expect([reached.size, answered > 150]).toEqual([modes.length, true]);
});

it("a crash is cut down to what it takes", async () => {
  const corpus = new Corpus(join(import.meta.dirname, "nowhere"));
  const { bytes } = corpus.pick(() => 0.7);
  // Outputs hold on to most of a graph: what is cut goes as far as the graph is read.
  const isRead = async (each: Uint8Array) =>
    ["done", "no-outputs"].includes(await runMode("lint", each, folder));
  const smaller = await minimize(bytes, isRead);
  expect(smaller.length).toBeLessThan(bytes.length / 2);
  expect(await isRead(smaller)).toBe(true);
});
