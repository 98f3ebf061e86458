/** @file Cases of a family of kernels, from the module that `npm run pack:gpu` makes of them. */
import type { KernelCase } from "../../../cuda-runtime/session/harness.ts";
import { InputError } from "../../ir/errors.ts";
import { importModule } from "../../ir/import-module.ts";

/** Where `npm run pack:gpu` puts them: dist/gpu/cases/. */
export const casesUrl = new URL("../gpu/cases/", import.meta.url);

/** The module of a family. */
export function moduleOf(family: string): string {
  return new URL(`${encodeURIComponent(family)}.js`, casesUrl).href;
}

/** Throws InputError `cases-missing` for a module that has none. */
export async function casesIn(module: string): Promise<readonly KernelCase[]> {
  const loaded: object = await importModule(module);
  const cases: unknown = "cases" in loaded ? loaded.cases : undefined;
  if (!Array.isArray(cases) || !cases.every(isCase))
    throw new InputError("cases-missing", `${module} has no kernel cases: npm run pack:gpu makes it anew`);
  return cases;
}

function isCase(each: unknown): each is KernelCase {
  return (
    typeof each === "object" &&
    each !== null &&
    "name" in each &&
    typeof each.name === "string" &&
    "run" in each &&
    typeof each.run === "function"
  );
}
