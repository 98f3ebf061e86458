/** @file Finds and reads configuration files: upward from a model, with everything they extend. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Config } from "../config.ts";
import { InputError } from "../ir/errors.ts";
import type { ConfigChain, ConfigLayer } from "../settings/chain.ts";
import { checkConfig } from "../settings/check.ts";
import { toDisplayPath } from "../settings/paths.ts";
import type { Schema } from "../settings/schema.ts";

export const configNames = ["tc-lint.config.js", "tc-lint.config.mjs", "tc-lint.config.json"] as const;

/** Reads each file once, and looks into each folder once. */
export class ConfigLoader {
  readonly #schema: Schema;
  readonly #byFolder = new Map<string, string | undefined>();
  readonly #chains = new Map<string, Promise<ConfigChain>>();

  constructor(schema: Schema) {
    this.#schema = schema;
  }

  /** The configuration nearest to a model, looking upward from its folder. */
  async nearest(modelPath: string): Promise<ConfigChain | undefined> {
    const file = this.#find(dirname(resolve(modelPath)));
    return file === undefined ? undefined : this.load(file);
  }

  /** Throws InputError where the file cannot be read or says something unknown. */
  load(path: string): Promise<ConfigChain> {
    const file = resolve(path);
    const chain = this.#chains.get(file) ?? this.#loadChain(file);
    this.#chains.set(file, chain);
    return chain;
  }

  #find(folder: string): string | undefined {
    if (this.#byFolder.has(folder)) return this.#byFolder.get(folder);
    const parent = dirname(folder);
    const found = configIn(folder) ?? (parent === folder ? undefined : this.#find(parent));
    this.#byFolder.set(folder, found);
    return found;
  }

  async #loadChain(file: string): Promise<ConfigChain> {
    return { folder: dirname(file), layers: await this.#layersOf(file, []) };
  }

  async #layersOf(file: string, extendedBy: readonly string[]): Promise<ConfigLayer[]> {
    if (extendedBy.includes(file)) {
      const circle = [...extendedBy, file].map(toDisplayPath).join(" extends ");
      throw new InputError("bad-config", `${circle}: the configurations extend each other in a circle`);
    }
    const config = await readConfig(file, this.#schema);
    const layers: ConfigLayer[] = [];
    for (const base of [config.extends ?? []].flat()) {
      layers.push(...(await this.#layersOf(resolveExtends(base, file), [...extendedBy, file])));
    }
    return [...layers, { file, config }];
  }
}

function configIn(folder: string): string | undefined {
  const found = configNames.map((name) => join(folder, name)).filter((path) => existsSync(path));
  if (found.length > 1) {
    const names = found.map(toDisplayPath).join(" and ");
    throw new InputError(
      "bad-config",
      `${names} lie in one folder: keep one of them, or say which with --config`,
    );
  }
  return found[0];
}

/** `./base.json` beside the file, or a package that the file's folder can import. */
function resolveExtends(base: string, file: string): string {
  if (base.startsWith(".") || isAbsolute(base)) return resolve(dirname(file), base);
  try {
    return createRequire(file).resolve(base);
  } catch (error) {
    const where = toDisplayPath(file);
    throw new InputError(
      "bad-config",
      `${where}: extends: "${base}" is no installed package; a file is written "./${base}"`,
      { cause: error },
    );
  }
}

async function readConfig(file: string, schema: Schema): Promise<Config> {
  const shown = toDisplayPath(file);
  if (!existsSync(file)) throw new InputError("bad-config", `${shown}: no such configuration file`);
  const value = file.endsWith(".json") ? readJson(file, shown) : await importDefault(file, shown);
  assertConfig(value, schema, shown);
  return value;
}

function readJson(file: string, shown: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8").replace(/^\uFEFF/, ""));
  } catch (error) {
    throw new InputError("bad-config", `${shown}: is not valid JSON: ${messageOf(error)}`, { cause: error });
  }
}

async function importDefault(file: string, shown: string): Promise<unknown> {
  let module: { readonly default?: unknown };
  try {
    module = await import(pathToFileURL(file).href);
  } catch (error) {
    const isModuleSyntax = error instanceof SyntaxError && file.endsWith(".js");
    const hint = isModuleSyntax ? ' (name it .mjs, or set "type": "module" in its package.json)' : "";
    throw new InputError("bad-config", `${shown}: cannot be loaded: ${messageOf(error)}${hint}`, {
      cause: error,
    });
  }
  if (module.default === undefined) {
    throw new InputError("bad-config", `${shown}: has no default export; expected: export default { … }`);
  }
  return module.default;
}

function assertConfig(value: unknown, schema: Schema, shown: string): asserts value is Config {
  checkConfig(value, schema, shown);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
