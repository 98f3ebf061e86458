/** @file Where the schema of configurations is for whoever edits one: a place that is there. */
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { look } from "../files/look.ts";
import { schemaPage } from "../version.ts";

const schemaFile = join("schemas", "config.schema.json");

/** Beside `dist/`, in a package as in a checkout. */
const shipped = fileURLToPath(new URL("../../schemas/config.schema.json", import.meta.url));

const ofThisProgram = { page: schemaPage, own: shipped };

/**
 * For a configuration in `folder`: of the package that is installed for it, be it further up; else the release's page, which holds wherever
 * the file goes; else this program's own. Undefined where there is none of them.
 */
export function schemaFor(
  folder: string,
  { page, own }: { readonly page: string | undefined; readonly own: string } = ofThisProgram,
): string | undefined {
  const file = installedAbove(folder) ?? (page === undefined && look(own) === "there" ? own : undefined);
  if (file === undefined) return page;
  const path = relative(folder, file).replaceAll("\\", "/");
  return path.startsWith(".") ? path : `./${path}`;
}

function installedAbove(folder: string): string | undefined {
  const file = join(folder, "node_modules", "tc-lint", schemaFile);
  if (look(file) === "there") return file;
  const above = dirname(folder);
  return above === folder ? undefined : installedAbove(above);
}
