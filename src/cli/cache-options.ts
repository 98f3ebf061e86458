/** @file The flags of `--cache`: what yargs is told, and what it gives back, checked. */
import { InputError } from "../ir/errors.ts";
import { type CachePlan, cacheStrategies } from "../settings/lint-plan.ts";
import { parseChoice } from "../settings/values.ts";
import { single } from "./arguments.ts";

const group = "Cache:";

export const cacheOptions = {
  cache: {
    type: "boolean",
    group,
    describe: "Keep what is found, and lint only models that changed since (--verbose counts them)",
  },
  "cache-location": {
    type: "string",
    requiresArg: true,
    group,
    describe: "Its folder (default: node_modules/.cache/tc-lint of the project, else the user's cache)",
  },
  "cache-strategy": {
    type: "string",
    requiresArg: true,
    group,
    describe: `How a file that changed is known: ${cacheStrategies.join(", ")} (default content; metadata is size and time)`,
  },
} as const;

export interface CacheFlags {
  readonly location: string | undefined;
  readonly strategy: CachePlan["strategy"];
}

type Arguments = { readonly [Name in keyof typeof cacheOptions]?: unknown };

/** Undefined where nothing is kept. Throws InputError `usage`. */
export function readCacheFlags(argv: Arguments): CacheFlags | undefined {
  const location = single(argv["cache-location"], "--cache-location");
  const strategy = single(argv["cache-strategy"], "--cache-strategy");
  const given = location === undefined ? "--cache-strategy" : "--cache-location";
  if (argv.cache !== true && (location !== undefined || strategy !== undefined))
    throw new InputError("usage", `${given}: found without --cache, which it is about`);
  if (argv.cache !== true) return undefined;
  return { location, strategy: parseChoice(strategy ?? "content", "--cache-strategy", cacheStrategies) };
}
