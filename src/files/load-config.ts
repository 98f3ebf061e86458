/** @file Reads configuration files, with everything they extend. */

import { createRequire } from "node:module";
import { dirname, isAbsolute, resolve } from "node:path";
import type { Config } from "../config.ts";
import { InputError } from "../ir/errors.ts";
import { pushAll } from "../ir/lists.ts";
import type { ConfigChain, ConfigLayer } from "../settings/chain.ts";
import { checkConfig } from "../settings/check.ts";
import { JsonError, parseJson, withoutComments } from "../settings/json.ts";
import { toDisplayPath } from "../settings/paths.ts";
import type { Schema } from "../settings/schema.ts";
import { WireError } from "../wire/error.ts";
import { readSmallFile } from "../wire/small-file.ts";
import {
  type ConfigFinder,
  checkReach,
  type FoundConfig,
  foreignOwner,
  isDataFile,
  named,
  type Trust,
} from "./find-config.ts";
import { look } from "./look.ts";
import { packageFile } from "./package-import.ts";
import { runModule } from "./run-module.ts";

/** Reads each file once. */
export class ConfigLoader {
  readonly #schema: Schema;
  readonly #finder: ConfigFinder;
  readonly #seconds: number | undefined;
  readonly #chains = new Map<string, Promise<ConfigChain>>();

  /** `seconds`: how long one that is code may take to load. */
  constructor(schema: Schema, finder: ConfigFinder, seconds?: number) {
    this.#schema = schema;
    this.#finder = finder;
    this.#seconds = seconds;
  }

  /** The configuration nearest to a model, looking upward from its folder. */
  async nearest(modelPath: string): Promise<ConfigChain | undefined> {
    const found = this.#finder.nearest(modelPath);
    return found === undefined ? undefined : this.#chain(found);
  }

  /** One that the command line names. Throws InputError where the file cannot be read or says something unknown. */
  load(path: string): Promise<ConfigChain> {
    return this.#chain({ file: resolve(path), trust: named });
  }

  #chain(found: FoundConfig): Promise<ConfigChain> {
    const chain = this.#chains.get(found.file) ?? this.#loadChain(found);
    this.#chains.set(found.file, chain);
    return chain;
  }

  async #loadChain({ file, trust }: FoundConfig): Promise<ConfigChain> {
    return { folder: dirname(file), layers: await this.#layersOf(file, trust, []) };
  }

  async #read(file: string, trust: Trust): Promise<Config> {
    checkReadable(file, trust);
    const shown = toDisplayPath(file);
    const value = isDataFile(file)
      ? readJson(file, shown)
      : await runModule({ file, shown, seconds: this.#seconds }, "bad-config");
    assertConfig(value, this.#schema, shown);
    return value;
  }

  async #layersOf(file: string, trust: Trust, extendedBy: readonly string[]): Promise<ConfigLayer[]> {
    if (extendedBy.includes(file)) {
      const circle = [...extendedBy, file].map(toDisplayPath).join(" extends ");
      throw new InputError("bad-config", `${circle}: the configurations extend each other in a circle`);
    }
    checkReach(file, file, trust, "it is a link that");
    const config = await this.#read(file, trust).catch((error: unknown) => {
      throw extendedError(error, extendedBy);
    });
    const { calibration } = config;
    if (calibration !== undefined)
      checkReach(resolve(dirname(file), calibration), file, trust, "calibration");
    const layers: ConfigLayer[] = [];
    for (const base of [config.extends ?? []].flat()) {
      const extended = resolveExtends(base, file, trust);
      pushAll(layers, await this.#layersOf(extended, trust, [...extendedBy, file]));
    }
    const plugins = (config.plugins ?? []).map((plugin) => resolvePlugin(plugin, file, trust));
    return [...layers, { file, config, plugins }];
  }
}

/** A file that nobody looked for: whoever extends it is named too. */
function extendedError(error: unknown, extendedBy: readonly string[]): unknown {
  const last = extendedBy.at(-1);
  if (last === undefined || !(error instanceof InputError)) return error;
  const chain = extendedBy.toReversed().map(toDisplayPath).join(", which is extended by ");
  return new InputError(error.code, `${error.message} (extended by ${chain})`, { cause: error });
}

/** A module, which is run: what a configuration beside a model may not name. */
function resolvePlugin(plugin: string, file: string, trust: Trust): string {
  const shown = toDisplayPath(file);
  if (!trust.code) {
    const why = "is code, which a configuration beside a model may not have run; name it with --config";
    throw new InputError("bad-config", `${shown}: plugins: "${plugin}" ${why}`);
  }
  const resolved = resolvePath(plugin, file, "plugins");
  if (look(resolved) === "absent")
    throw new InputError("bad-config", `${shown}: plugins: "${plugin}": no such file`);
  const owner = trust.owners === undefined ? undefined : foreignOwner(resolved, trust.owners);
  if (owner === undefined) return resolved;
  const why = `is code of another user (${owner}), which a configuration that was found may not have run`;
  throw new InputError("bad-config", `${shown}: plugins: "${plugin}" ${why}; name it with --config`);
}

/** `./base.json` beside the file, or a package that the file's folder can import. */
function resolvePath(path: string, file: string, key: string): string {
  const isPath = path.startsWith(".") || isAbsolute(path);
  return isPath ? resolve(dirname(file), path) : resolvePackage(path, file, key);
}

function resolveExtends(base: string, file: string, trust: Trust): string {
  const resolved = resolvePath(base, file, "extends");
  checkReach(resolved, file, trust, `extends: "${base}"`);
  return resolved;
}

function resolvePackage(base: string, file: string, key: string): string {
  try {
    return createRequire(file).resolve(base);
  } catch (error) {
    const imported = packageFile(base, file);
    if (imported !== undefined && look(imported) !== "absent") return imported;
    const where = toDisplayPath(file);
    throw new InputError(
      "bad-config",
      `${where}: ${key}: "${base}" is no installed package; a file is written "./${base}"`,
      { cause: error },
    );
  }
}

/** Throws InputError where it is not there, or is code that may not be run. */
function checkReadable(file: string, trust: Trust): void {
  const shown = toDisplayPath(file);
  if (look(file) === "absent") throw new InputError("bad-config", `${shown}: no such configuration file`);
  const isData = isDataFile(file);
  if (!isData && !trust.code) {
    const why = "is code, which a configuration beside a model may not extend; name it with --config";
    throw new InputError("bad-config", `${shown}: ${why}`);
  }
  const owner = isData || trust.owners === undefined ? undefined : foreignOwner(file, trust.owners);
  if (owner !== undefined) {
    const why = `is code of another user (${owner}), which a configuration that was found may not extend`;
    throw new InputError("bad-config", `${shown}: ${why}; name it with --config`);
  }
  if (!isData) readBounded(file);
}

/** A pipe or a device would be read for ever. Throws InputError. */
function readBounded(file: string): Buffer {
  try {
    return readSmallFile(file);
  } catch (error) {
    if (error instanceof WireError) throw new InputError("bad-config", error.message, { cause: error });
    throw error;
  }
}

function readJson(file: string, shown: string): unknown {
  try {
    const text = readBounded(file).toString("utf8");
    return parseJson(file.endsWith(".jsonc") ? withoutComments(text) : text);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new InputError("bad-config", `${shown}: ${error.message}`, { cause: error });
  }
}

function assertConfig(value: unknown, schema: Schema, shown: string): asserts value is Config {
  checkConfig(value, schema, shown);
}
