/** @file What every format is given beside the report itself, and the formats there are. */
import type { Fixability, LintReport } from "../lint/result.ts";

/** One rule's documentation, generated from its source. */
export interface RuleDoc {
  readonly code: string;
  readonly name: string;
  readonly severity: "warn" | "info";
  readonly fix: Fixability;
  /** What an unsafe fix changes: the layout, unless said. */
  readonly changes?: "precision";
  /** One line. */
  readonly summary: string;
  /** The page, without its title. */
  readonly markdown: string;
  /** Of a plugin's rule: where its page is, or null. Of built-in ones by `pages`. */
  readonly url?: string | null;
}

/** How much colour: none, or the 16 colours that every terminal has. */
export type ColorLevel = 0 | 1;

export interface RenderOptions {
  readonly color: ColorLevel;
  /** Columns of the terminal; undefined where the report does not go to one. */
  readonly columns?: number | undefined;
  /** Whether every place of an entry is listed. */
  readonly verbose: boolean;
  /** Whether models without errors are only counted (`--quiet`). */
  readonly quiet?: boolean;
  /** Whether counts by rule are added. */
  readonly stats: boolean;
  readonly docs: readonly RuleDoc[];
  /** What pages run in the browser, for formats that are pages. */
  readonly script: string;
  /** A file of the exporter's machine as a path below the repository's root, where it exists here. */
  readonly localPath: (file: string) => string | undefined;
  /** A path of the run, relative to the repository's root where it lies there: what CI looks for. */
  readonly repositoryPath: (path: string) => string;
  /** Addresses of the tool, and of a rule's page in this version. */
  readonly pages: { readonly home: string; readonly rule: (code: string) => string };
  /** Bytes of a model file; undefined where it cannot be read. */
  readonly bytesOf: (path: string) => number | undefined;
  /** The GPU and stack in words. */
  readonly describeTarget: (target: { readonly gpu: string; readonly stack: string }) => string;
}

/** Formats that few ask for are loaded when they are. */
export type Renderer = (report: LintReport, options: RenderOptions) => string | Promise<string>;
