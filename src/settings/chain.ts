/** @file Configurations that build on each other, as they were read. */
import type { Config } from "../config.ts";

/** One file of a chain of `extends`, checked. */
export interface ConfigLayer {
  /** Absolute. */
  readonly file: string;
  readonly config: Config;
  /** Files of its plugins, absolute. */
  readonly plugins?: readonly string[];
}

/** A configuration with what it extends: the most general layer first. */
export interface ConfigChain {
  /** The folder that file globs are relative to: that of the last layer. Absolute. */
  readonly folder: string;
  readonly layers: readonly ConfigLayer[];
}
