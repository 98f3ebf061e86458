/**
 * @file The file of a package that `import` takes. Node tells it of a module's own imports alone; `require.resolve` answers for others, and
 * passes packages over that are for `import` only.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { JsonError, parseJson } from "../settings/json.ts";
import { look } from "./look.ts";

/** What `import` asks for; the first that a package names wins. */
const conditions: ReadonlySet<string> = new Set(["import", "module-sync", "node", "default"]);

/** Undefined where no package of that name, that exports this, can be imported from the file. */
export function packageFile(specifier: string, from: string): string | undefined {
  const [, name, rest = ""] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(specifier) ?? [];
  if (name === undefined) return undefined;
  for (const folder of createRequire(from).resolve.paths(specifier) ?? []) {
    const manifest = join(folder, name, "package.json");
    if (look(manifest) === "absent") continue;
    const target = targetOf(entryOf(exportsOf(manifest), `.${rest}`));
    return target === undefined ? undefined : join(dirname(manifest), target);
  }
  return undefined;
}

function exportsOf(manifest: string): unknown {
  try {
    const value = parseJson(readFileSync(manifest, "utf8"));
    return isRecord(value) ? value["exports"] : undefined;
  } catch (error) {
    // Such a package exports nothing.
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

function entryOf(exports: unknown, subpath: string): unknown {
  const isByPath = isRecord(exports) && Object.keys(exports).some((key) => key.startsWith("."));
  if (isByPath) return exports[subpath];
  return subpath === "." ? exports : undefined;
}

function targetOf(entry: unknown): string | undefined {
  if (typeof entry === "string") return entry.startsWith("./") && !entry.includes("..") ? entry : undefined;
  const choices = Array.isArray(entry)
    ? entry
    : Object.entries(isRecord(entry) ? entry : {}).flatMap(([key, value]) =>
        conditions.has(key) ? [value] : [],
      );
  for (const choice of choices) {
    const target = targetOf(choice);
    if (target !== undefined) return target;
  }
  return undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
