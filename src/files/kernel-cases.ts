/** @file Which families of kernels have cases here: they are bundled on demand. */
import { readdirSync } from "node:fs";
import path from "node:path";
import { InputError } from "../ir/errors.ts";

/** Names of families, in order. Throws InputError `cases-missing` where there are none. */
export function caseFamilies(folder: URL): readonly string[] {
  const families = filesIn(folder)
    .filter((file) => file.endsWith(".js"))
    .map((file) => path.basename(file, ".js"))
    .sort();
  if (families.length === 0)
    throw new InputError(
      "cases-missing",
      "the kernels' cases are bundled on demand, and are not here: npm run pack:gpu (in a checkout)",
    );
  return families;
}

function filesIn(folder: URL): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return [];
    throw error;
  }
}
