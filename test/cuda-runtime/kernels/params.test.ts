/** @file The parameters of the kernels that are built: declared by tables alone, and laid out as a C++ compiler does. */
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { StructLayout } from "../../../cuda-runtime/ir/param-table.ts";

const kernels = fileURLToPath(new URL("../../../cuda-runtime/kernels/", import.meta.url));
const generated = "params.generated.cuh";
const families = readdirSync(kernels).filter((name) =>
  existsSync(path.join(kernels, name, "params.table.ts")),
);
const structs = new Map(
  await Promise.all(families.map(async (name) => [name, await structsOf(name)] as const)),
);

async function structsOf(family: string): Promise<StructLayout[]> {
  const tables: Record<string, unknown> = await import(
    `../../../cuda-runtime/kernels/${family}/params.table.ts`
  );
  return Object.values(tables).filter((table) => table instanceof StructLayout);
}

/** Sources and headers written by hand. */
function sources(): string[] {
  return readdirSync(kernels, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.cuh?$/.test(file) && path.basename(file) !== generated)
    .map((file) => readFileSync(path.join(kernels, file), "utf8"));
}

describe("parameters of kernels", () => {
  test("are declared by tables, and nowhere by hand", () => {
    const declared = new Set([...structs.values()].flat().map(({ name }) => name));
    const taken = sources().flatMap((text) => [...text.matchAll(/__grid_constant__ (\w+)/g)]);
    expect(taken.length).toBeGreaterThan(50);
    expect([...new Set(taken.map(([, name = ""]) => name))].filter((name) => !declared.has(name))).toEqual(
      [],
    );
    const byHand = sources().flatMap((text) => [...text.matchAll(/^struct (\w+)/gm)]);
    expect(byHand.filter(([, name = ""]) => declared.has(name))).toEqual([]);
  });

  test("lie where the planner writes them", ({ skip }) => {
    const asserted = [...structs.values()]
      .flat()
      .flatMap(({ name, members }) =>
        members.map(
          (member) =>
            `static_assert(offsetof(${name}, ${member.name}) == ${member.offset}, "${member.name}");`,
        ),
      );
    expect([...structs].filter(([, { length }]) => length === 0)).toEqual([]);
    const includes = [...structs.keys()].map((family) => `#include "${kernels}${family}/${generated}"`);
    const source = ["#include <cstddef>", ...includes, ...asserted].join("\n");
    const words = ["-D__device__=", "-D__forceinline__=inline", "-Dint2=long"];
    const flags = ["-x", "c++", "-std=c++17", "-fsyntax-only", ...words, "-"];
    const compiled = spawnSync("c++", flags, { encoding: "utf8", input: source });
    if (compiled.error !== undefined) skip(`there is no C++ compiler: ${compiled.error.message}`);
    expect(compiled.stderr).toBe("");
    expect(compiled.status).toBe(0);
  });
});
