/** @file Machine code: fatbins that come with tc-lint, and PTX compiled on this machine, kept for the next time. */
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { InputError } from "../../src/ir/errors.ts";
import { results } from "../driver/calls.ts";
import type { DeviceContext } from "../driver/context.ts";
import { CudaError } from "../driver/errors.ts";
import { type Kernel, Library } from "../driver/kernel.ts";
import { compilePtx } from "../driver/link.ts";
import type { KernelRef } from "../ir/step.ts";
import type { CubinCache } from "./cubin-cache.ts";
import { chooseCache } from "./cubin-folder.ts";

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
  /** Folder for compiled PTX, absolute; the user's cache folder unless given, null for none. */
  readonly cache?: string | null | undefined;
}

const notForThisDriver: ReadonlySet<number> = new Set([results.invalidImage, results.noBinaryForGpu]);

/** The kernels of one device, loaded when they are first asked for. */
export class KernelStore implements Disposable {
  readonly #context: DeviceContext;
  readonly #folder: URL;
  readonly #cache: CubinCache | undefined;
  readonly #noCache: string | undefined;
  readonly #families = new Map<string, Library>();
  readonly #texts = new Map<string, Library>();
  readonly #identities = new Map<string, string>();
  /** PTX texts that the driver compiled, as against those found in the cache. */
  compiled = 0;

  /** Throws InputError `usage` where the environment's limit of the cache is no number. */
  constructor(context: DeviceContext, options: StoreOptions) {
    this.#context = context;
    this.#folder = options.kernels;
    const choice = chooseCache(options.cache);
    if ("cache" in choice) this.#cache = choice.cache;
    else this.#noCache = choice.reason;
  }

  /** Why compiled PTX is not kept, if so. */
  get cacheProblem(): string | undefined {
    return this.#cache?.problem ?? this.#noCache;
  }

  /** Throws InputError `kernels-missing`, PtxError, or CudaError. */
  kernel(ref: KernelRef): Kernel {
    const library = ref.kind === "built" ? this.#family(ref.family) : this.#text(ref.text, ref.entry);
    return library.kernel(ref.entry);
  }

  /** By what the machine code of a kernel is made of: equal names are equal code, on one device and driver. */
  identityOf(ref: KernelRef): string {
    if (ref.kind === "ptx") return sha256(ref.text);
    const known = this.#identities.get(ref.family) ?? sha256(readFatbin(this.#folder, ref.family));
    this.#identities.set(ref.family, known);
    return `${known} ${ref.entry}`;
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
    const key = this.#keyOf(text);
    const library = this.#cached(key) ?? this.#compiled(text, entry, key);
    this.#texts.set(text, library);
    return library;
  }

  /** By all that the machine code depends on. */
  #keyOf(text: string): Buffer {
    const { driver, device } = this.#context;
    const parts = [text, `sm_${device.computeCapability}`, String(driver.version)];
    return createHash("sha256").update(parts.join("\0")).digest();
  }

  #cached(key: Buffer): Library | undefined {
    const image = this.#cache?.read(key);
    if (image === undefined) return undefined;
    try {
      return new Library(this.#context.driver, image);
    } catch (error) {
      // What another driver of the same version made is replaced.
      if (error instanceof CudaError && notForThisDriver.has(error.code)) return undefined;
      throw error;
    }
  }

  #compiled(text: string, entry: string, key: Buffer): Library {
    const { driver } = this.#context;
    const cubin = compilePtx(driver, text, entry);
    this.compiled++;
    const library = new Library(driver, cubin);
    this.#cache?.write(key, cubin);
    return library;
  }

  [Symbol.dispose](): void {
    for (const library of [...this.#families.values(), ...this.#texts.values()]) library[Symbol.dispose]();
  }
}

/** Families of kernels that the build put into this folder; none where there is no such folder. */
export function builtFamilies(folder: URL): string[] {
  const path = fileURLToPath(folder);
  if (!existsSync(path)) return [];
  const binaries = readdirSync(path).filter((name) => name.endsWith(".fatbin"));
  return binaries.map((name) => name.slice(0, -".fatbin".length));
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

function sha256(content: string | Buffer): string {
  return createHash("sha256").update(content).digest("hex");
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

function readIfThere(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch (error) {
    const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (isAbsent) return undefined;
    throw error;
  }
}
