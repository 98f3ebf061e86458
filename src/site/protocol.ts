/** @file What the page asks of its worker, and what that answers. */

/** As the command line takes it: `--gpu`, `--stack`, `--precision`, `--dim` each. */
export interface Target {
  readonly gpu: string;
  readonly stack: string;
  readonly precision: string;
  readonly dims: readonly string[];
}

export interface Job {
  readonly kind: "lint" | "fix";
  /** Models and the external data of them. */
  readonly files: readonly File[];
  readonly target: Target;
}

/** What a page can be asked to keep, by the name that it would have. */
export interface Download {
  readonly name: string;
  readonly content: Blob;
}

export interface Linted {
  readonly kind: "linted";
  /** The HTML report. */
  readonly page: Blob;
  readonly json: Blob;
  /** Entries of the report. */
  readonly summary: {
    readonly errors: number;
    readonly warnings: number;
    readonly infos: number;
    readonly failedModels: number;
  };
  /** Names of models that safe fixes would change. */
  readonly fixable: readonly string[];
}

export interface Fixed {
  readonly kind: "fixed";
  /** The HTML report of what was changed, and of what is found then. */
  readonly page: Blob;
  readonly downloads: readonly Download[];
  /** By model: the command that compares both on the reader's machine. */
  readonly verify: readonly string[];
}

export type Answer =
  | Linted
  | Fixed
  | { readonly kind: "progress"; readonly what: string }
  | { readonly kind: "failed"; readonly code: string; readonly message: string };
