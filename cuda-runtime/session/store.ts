/** @file Machine code: fatbins that come with tc-lint, and PTX compiled on this machine, kept for the next time. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { InputError } from "../../src/ir/errors.ts";
import { results } from "../driver/calls.ts";
import type { DeviceContext } from "../driver/context.ts";
import { CudaError } from "../driver/errors.ts";
import { type Kernel, Library } from "../driver/kernel.ts";
import { compilePtx } from "../driver/link.ts";
import type { KernelRef } from "../plan/step.ts";

/** What the build says of an entry (scripts/build-cuda.mjs). */
export interface EntryFacts {
  readonly registers: number;
  readonly sharedBytes: number;
  readonly spillBytes: number;
  /** The Tensor Core instruction in it: "wgmma" (Hopper's) or "mma"; null for none. */
  readonly tensor: "wgmma" | "mma" | null;
}

export interface StoreOptions {
  /** Folder of the fatbins, ending in a slash. */
  readonly kernels: URL;
  /** Folder for compiled PTX; the user's cache folder unless given, null for none. */
  readonly cache?: string | null | undefined;
}

/** The kernels of one device, loaded when they are first asked for. */
export class KernelStore implements Disposable {
  readonly #context: DeviceContext;
  readonly #folder: URL;
  readonly #cache: string | null;
  readonly #families = new Map<string, Library>();
  readonly #texts = new Map<string, Library>();
  /** PTX texts that the driver compiled, as against those found in the cache. */
  compiled = 0;
  /** Why compiled PTX is not kept, if so. */
  cacheProblem: string | undefined;

  constructor(context: DeviceContext, options: StoreOptions) {
    this.#context = context;
    this.#folder = options.kernels;
    this.#cache = options.cache === undefined ? defaultCache() : options.cache;
  }

  /** Throws InputError `kernels-missing`, PtxError, or CudaError. */
  kernel(ref: KernelRef): Kernel {
    const library = ref.kind === "built" ? this.#family(ref.family) : this.#text(ref.text, ref.entry);
    return library.kernel(ref.entry);
  }

  #family(family: string): Library {
    const known = this.#families.get(family);
    if (known !== undefined) return known;
    const library = new Library(this.#context.driver, readFatbin(this.#folder, family));
    this.#families.set(family, library);
    return library;
  }

  #text(text: string, entry: string): Library {
    const known = this.#texts.get(text);
    if (known !== undefined) return known;
    const path = this.#cachePath(text);
    const library = this.#cached(path) ?? this.#compiled(text, entry, path);
    this.#texts.set(text, library);
    return library;
  }

  /** By all that the machine code depends on; undefined where nothing is kept. */
  #cachePath(text: string): string | undefined {
    const { driver, device } = this.#context;
    const parts = [text, `sm_${device.computeCapability}`, String(driver.version)];
    const key = createHash("sha256").update(parts.join("\0")).digest("hex");
    return this.#cache === null ? undefined : join(this.#cache, `${key}.cubin`);
  }

  #cached(path: string | undefined): Library | undefined {
    const image = path === undefined ? undefined : readIfThere(path);
    if (image === undefined) return undefined;
    try {
      return new Library(this.#context.driver, image);
    } catch (error) {
      // A file that was damaged is replaced.
      if (error instanceof CudaError && error.code === results.invalidImage) return undefined;
      throw error;
    }
  }

  #compiled(text: string, entry: string, path: string | undefined): Library {
    const { driver } = this.#context;
    const cubin = compilePtx(driver, text, entry);
    this.compiled++;
    const library = new Library(driver, cubin);
    if (path !== undefined) this.#keep(path, cubin);
    return library;
  }

  /** A cache that cannot be written costs time, not results. */
  #keep(path: string, cubin: Uint8Array): void {
    if (this.#cache === null || this.cacheProblem !== undefined) return;
    try {
      mkdirSync(this.#cache, { recursive: true });
      // Other processes see a whole file or none.
      const part = `${path}.${process.pid}.tmp`;
      writeFileSync(part, cubin);
      renameSync(part, path);
    } catch (error) {
      this.cacheProblem = error instanceof Error ? error.message : String(error);
    }
  }

  [Symbol.dispose](): void {
    for (const library of [...this.#families.values(), ...this.#texts.values()]) library[Symbol.dispose]();
  }
}

/** What is known of the machine code of the entries that the build made. */
export class KernelManifest {
  readonly #folder: URL;
  readonly #computeCapability: number;
  readonly #families = new Map<string, Readonly<Record<string, EntryFacts>>>();

  /** "9.0" is 90. */
  constructor(folder: URL, computeCapability: number) {
    this.#folder = folder;
    this.#computeCapability = computeCapability;
  }

  /** Undefined for PTX, which has no Tensor Core instructions, and for what is not built. */
  facts(ref: KernelRef): EntryFacts | undefined {
    return ref.kind === "ptx" ? undefined : this.#family(ref.family)[ref.entry];
  }

  #family(family: string): Readonly<Record<string, EntryFacts>> {
    const known = this.#families.get(family);
    if (known !== undefined) return known;
    const text = readIfThere(fileURLToPath(new URL(`${family}.json`, this.#folder)));
    const all: Readonly<Record<string, Readonly<Record<string, EntryFacts>>>> =
      text === undefined ? {} : JSON.parse(text.toString("utf8"));
    const own = String(this.#computeCapability);
    const architecture = Object.keys(all)
      .filter((name) => isUsable(name, own))
      .at(-1);
    const entries = all[architecture ?? ""] ?? {};
    this.#families.set(family, entries);
    return entries;
  }
}

function readFatbin(folder: URL, family: string): Buffer {
  const path = fileURLToPath(new URL(`${family}.fatbin`, folder));
  const found = readIfThere(path);
  if (found !== undefined) return found;
  throw new InputError(
    "kernels-missing",
    `${path} is not there: the GPU kernels are not built (in a checkout: npm run build:cuda, which needs nvcc)`,
  );
}

/** Machine code of an architecture runs on later ones of its generation; "90a" on 9.0 alone. */
function isUsable(architecture: string, own: string): boolean {
  if (architecture.endsWith("a")) return architecture.slice(0, -1) === own;
  const [theirs, mine] = [Number(architecture), Number(own)];
  return Math.floor(theirs / 10) === Math.floor(mine / 10) && theirs <= mine;
}

function defaultCache(): string {
  const base = process.env["XDG_CACHE_HOME"];
  return join(base === undefined || base === "" ? join(homedir(), ".cache") : base, "tc-lint", "ptx");
}

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (isAbsent) return undefined;
    throw error;
  }
}
