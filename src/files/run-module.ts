/** @file A configuration that is code, or a plugin: run, with what it imports of tc-lint, and what it exports taken. */
import { Console } from "node:console";
import * as modules from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { InputError } from "../ir/errors.ts";
import { importModule } from "../ir/import-module.ts";
import { loadWithin } from "../limits/loading.ts";
import { threads } from "../limits/threads.ts";
import { loadedScripts, ModuleGraph } from "./module-graph.ts";
import { ranModules } from "./ran-modules.ts";

/** A module, and how long it may take to load. */
export interface Module {
  readonly file: string;
  /** As messages name it. */
  readonly shown: string;
  /** Undefined is a minute. */
  readonly seconds?: number | undefined;
}

/** The default export. Throws InputError `code`, and `timeout` where it does not come to an end. */
export async function runModule({ file, shown, seconds }: Module, code: string): Promise<unknown> {
  const fail = (what: string, cause?: unknown) => new InputError(code, `${shown}: ${what}`, { cause });
  const { typescript } = process.features as { readonly typescript?: unknown };
  if (/\.[cm]?ts$/.test(file) && (typescript === undefined || typescript === false))
    throw fail(
      `is TypeScript, which Node reads from version 22.18 on, and this is ${process.version}: write it as .mjs${code === "bad-config" ? " or .json" : ""}`,
    );
  lendOwnModules();
  keepStdout();
  ranModules.add(shown);
  const before = loadedScripts();
  let module: { readonly default?: unknown };
  try {
    module = await loadWithin(seconds, shown, () => importModule(pathToFileURL(file).href));
  } catch (error) {
    if (error instanceof InputError && error.code === "timeout") throw error;
    throw fail(`cannot be loaded: ${messageOf(error)}${hintOf(error, file)}`, error);
  }
  imports.noteScripts(file, before);
  if (module.default === undefined) throw fail("has no default export; expected: export default { … }");
  return module.default;
}

/** stdout is the report's: what such code prints (`console.log`) goes to stderr, in this thread. */
function keepStdout(): void {
  if (isKept) return;
  isKept = true;
  const { stderr } = process;
  globalThis.console = new Console({ stdout: stderr, stderr });
}

let isKept = false;

/** A package of CommonJS, as `npm init` makes one, takes `.js` and `.ts` for scripts. */
function hintOf(error: unknown, file: string): string {
  const [, ending] = /\.([jt]s)$/.exec(file) ?? [];
  if (!(error instanceof SyntaxError) || ending === undefined) return "";
  return ` (name it .m${ending}, or set "type": "module" in its package.json)`;
}

const imports = new ModuleGraph();

/** Of the code of a module that was run, with all that it imported: the same wherever the same files lie. */
export function digestOfModule(file: string): string {
  return imports.digestOf(file);
}

let isLent = false;

/**
 * `import { defineConfig } from "tc-lint/config"`, or rules' `tc-lint/rules`, where the project has no tc-lint among its packages, as with
 * `npx` or a global installation: the one that runs stands in. One that is there comes first.
 */
function lendOwnModules(): void {
  if (isLent) return;
  isLent = true;
  const { registerHooks } = modules as typeof modules & InThread;
  // Node 20 has hooks in a thread of their own alone, which take their code from a URL.
  if (registerHooks === undefined) return lendInThread();
  registerHooks({
    resolve(specifier, context, next) {
      try {
        const found = next(specifier, context);
        if (isNoted(specifier, found.url) && context.parentURL !== undefined)
          imports.note([context.parentURL, found.url]);
        return found;
      } catch (error) {
        const url = ownModules.get(specifier);
        if (url !== undefined && isNotFound(error)) return { url, shortCircuit: true };
        throw error;
      }
    },
  });
}

function lendInThread(): void {
  const { port1, port2 } = new (threads().MessageChannel)();
  imports.listen(port1);
  modules.register(`data:text/javascript,${encodeURIComponent(threadHook())}`, {
    parentURL: import.meta.url,
    data: port2,
    transferList: [port2],
  });
  lendToRequire();
}

/** Hooks in a thread see no `require`. */
function lendToRequire(): void {
  const loader = modules.default as unknown as ScriptLoader;
  const resolve = loader._resolveFilename;
  loader._resolveFilename = (specifier, ...rest) => {
    try {
      return resolve(specifier, ...rest);
    } catch (error) {
      const url = ownModules.get(specifier);
      if (url !== undefined && isNotFound(error)) return fileURLToPath(url);
      throw error;
    }
  };
}

/** What Node 20 resolves a `require` by. */
interface ScriptLoader {
  _resolveFilename: (specifier: string, ...rest: readonly unknown[]) => string;
}

/** What is Node's or tc-lint's own is of their versions. */
function isNoted(specifier: string, url: string): boolean {
  return !url.startsWith("node:") && !/^tc-lint(?:\/|$)/.test(specifier);
}

interface Resolved {
  readonly url: string;
  readonly shortCircuit?: boolean;
}

/** Of Node 22.15 and later. */
interface InThread {
  readonly registerHooks?: (hooks: {
    resolve(
      specifier: string,
      context: { readonly parentURL?: string | undefined },
      next: (specifier: string, context: unknown) => Resolved,
    ): Resolved;
  }) => void;
}

/** In the package the bundles lie beside `lib`; in a checkout that runs its sources there is the source. */
const ownModules: ReadonlyMap<string, string> = new Map(
  ["config", "rules"].map((name) => {
    const isSource = import.meta.url.endsWith(".ts");
    const path = isSource ? `../${name}.ts` : `../lib/${name}.js`;
    return [`tc-lint/${name}`, new URL(path, import.meta.url).href];
  }),
);

/** Of an import, and of a require. */
const notFound: ReadonlySet<string> = new Set(["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"]);

function isNotFound(error: unknown): boolean {
  return error instanceof Error && "code" in error && notFound.has(String(error.code));
}

function threadHook(): string {
  return `const own = new Map(${JSON.stringify([...ownModules])});
const isNoted = ${isNoted.toString()};
let port;
export function initialize(given) {
  port = given;
}
export async function resolve(specifier, context, next) {
  try {
    const found = await next(specifier, context);
    if (context.parentURL !== undefined && isNoted(specifier, found.url)) port.postMessage([context.parentURL, found.url]);
    return found;
  } catch (error) {
    const url = own.get(specifier);
    if (url === undefined || error.code !== "ERR_MODULE_NOT_FOUND") throw error;
    return { url, shortCircuit: true };
  }
}`;
}

/** Without the modules that led there, of which each has a line. */
function messageOf(error: unknown): string {
  const [first = ""] = (error instanceof Error ? error.message : String(error)).split("\n");
  return first;
}
