/** @file Imports what is named at run time: a configuration, a plugin, kernel cases. */

/** Of a script with kept code (cli/load-program.ts): V8 has forgotten there whose `import()` it is. */
declare const importByLoader: typeof importModule | undefined;

/** The module at a URL. Rejects as `import()` does. */
export function importModule(url: string): Promise<Record<string, unknown>> {
  return typeof importByLoader === "undefined" ? import(url) : importByLoader(url);
}
