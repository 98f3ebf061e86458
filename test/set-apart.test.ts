/** @file What the build sets apart is loaded when it is asked for, and shares with the rest what both import. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, expect, test } from "vitest";
import { setApart } from "../scripts/set-apart.mjs";

const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-apart-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const sources = {
  "entry.ts": `
    import { seen } from "./shared.ts";
    export const before = [...seen];
    export const early = async () => (await import("./early.ts")).name;
    export const late = async () => (await import("./late.ts")).names();
    export const seenBy = () => seen;
  `,
  "shared.ts": `export const seen: string[] = []; export class Told extends Error {}`,
  "early.ts": `import { seen } from "./shared.ts"; seen.push("early"); export const name = "early";`,
  "late.ts": `
    import { below } from "./below.ts";
    import { seen, Told } from "./shared.ts";
    seen.push("late");
    export async function names() {
      try { throw new Told(); } catch (error) { if (!(error instanceof Told)) throw error; }
      return [below(), (await import("./early.ts")).name, (await import("./later.ts")).later];
    }
  `,
  "below.ts": `export function below() { return \`
// entry.ts is no mark within a line: // shared.ts\`.trim(); }`,
  "later.ts": `import { seen } from "./shared.ts"; seen.push("later"); export const later = "later";`,
};

async function built() {
  mkdirSync(folder, { recursive: true });
  for (const [name, text] of Object.entries(sources)) writeFileSync(path.join(folder, name), text);
  const { outputFiles, metafile } = await build({
    absWorkingDir: folder,
    entryPoints: ["entry.ts"],
    bundle: true,
    platform: "node",
    format: "cjs",
    minifySyntax: true,
    metafile: true,
    write: false,
    outdir: folder,
  });
  return setApart(outputFiles[0]?.text ?? "", metafile.inputs, "entry.ts", new Set(["early.ts"]));
}

test("modules that few runs import are in one function, and work as before", async () => {
  const text = await built();
  const apart = text.slice(text.indexOf("function modulesApart"));
  expect(["late.ts", "below.ts", "later.ts"].every((name) => apart.includes(`// ${name}`))).toBe(true);
  expect(["shared.ts", "early.ts"].some((name) => apart.includes(`// ${name}\n`))).toBe(false);

  writeFileSync(path.join(folder, "program.cjs"), text);
  const program = createRequire(import.meta.url)(path.join(folder, "program.cjs"));
  expect(program.before).toEqual([]);
  expect(await program.early()).toBe("early");
  expect(program.seenBy()).toEqual(["early"]);
  const names = ["// entry.ts is no mark within a line: // shared.ts", "early", "later"];
  expect(await program.late()).toEqual(names);
  // Once, whoever asks.
  expect(await program.late()).toEqual(names);
  expect(program.seenBy()).toEqual(["early", "late", "later"]);
});
