/** @file The version of the package, from its one source. */
import manifest from "../package.json" with { type: "json" };

export const version: string = manifest.version;
