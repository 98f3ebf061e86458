/** @file The one place where koffi is loaded, and where C is called. */
import { type ArgumentType, type CallName, driverCalls } from "./calls.ts";
import { DriverMissingError } from "./errors.ts";

/** Memory of this process that does not move. */
export interface HostBlock extends Disposable {
  readonly address: bigint;
  readonly bytes: Uint8Array;
}

/** The driver as a C library: what a test replaces to force a fault. */
export interface Binding {
  /** Returns CUresult. */
  invoke(name: CallName, parameters: readonly unknown[]): number;
  /** Memory of this process at an address that C gave; gone when its owner frees it. */
  view(address: bigint, bytes: number): Uint8Array;
  /** Text that ends with a zero byte. */
  text(address: bigint): string;
  allocate(bytes: number): HostBlock;
}

const cTypes = {
  i32: "int",
  u32: "unsigned int",
  u64: "uint64_t",
  host: "void *",
  text: "const char *",
} as const satisfies Record<ArgumentType, string>;

/** The driver's library, below Linux and below Windows' Linux. */
const libraryNames = ["libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"];

/** Throws DriverMissingError. `names` are libraries to try, one after another. */
export async function openBinding(names: readonly string[] = libraryNames): Promise<Binding> {
  // Native code: loaded where a GPU is wanted, never for linting.
  const { default: koffi } = await import("koffi");
  const library = firstOf(names, (name) => koffi.load(name));
  const functions = new Map<CallName, (...parameters: readonly unknown[]) => unknown>();
  const functionOf = (name: CallName) => {
    const known = functions.get(name);
    if (known !== undefined) return known;
    const types = driverCalls[name].map((type) => cTypes[type]);
    const made = resolve(name, () => library.func(name, "int", types));
    functions.set(name, made);
    return made;
  };
  return {
    invoke: (name, parameters) => Number(functionOf(name)(...parameters)),
    view: (address, bytes) => new Uint8Array(koffi.view(address, bytes)),
    text: (address) => koffi.decode.string(address),
    allocate: (bytes) => {
      const address: bigint = koffi.alloc("uint8_t", bytes);
      const view = new Uint8Array(koffi.view(address, bytes));
      return { address, bytes: view.fill(0), [Symbol.dispose]: () => koffi.free(address) };
    },
  };
}

function firstOf<Library>(names: readonly string[], load: (name: string) => Library): Library {
  let reason: unknown;
  for (const name of names) {
    try {
      return load(name);
    } catch (error) {
      reason ??= error;
    }
  }
  const text = reason instanceof Error ? reason.message : String(reason);
  throw new DriverMissingError("missing", `${names[0]}: ${text}`, { cause: reason });
}

function resolve<Function>(name: CallName, find: () => Function): Function {
  try {
    return find();
  } catch (error) {
    throw new DriverMissingError("too-old", `the driver has no function ${name}`, { cause: error });
  }
}
