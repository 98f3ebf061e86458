/**
 * @file Makes one call on files fail: the n-th of those that lead into a given folder, or to /proc. Loaded before the command
 * line (`node --import`, or imported ahead of it), so that what is tested is the bundle that ships.
 *
 * Failing, a call does what the system would have done before it noticed: a write of a whole file leaves half of it, a
 * closed descriptor is closed.
 */
import fs from "node:fs";
import fsPromises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { resolve, sep } from "node:path";
import { isMainThread } from "node:worker_threads";
import type { FaultKind } from "./kinds.ts";

export interface Fault {
  readonly kind: FaultKind;
  /** Counted from 1. */
  readonly turn: number;
  /** Whether it stays so: what would write fails from the turn on; of reads, none does. */
  readonly lasts: boolean;
  /** Only calls on what lies below it count. */
  readonly folder: string;
  /** Where processes and threads that cannot be asked say that they failed a call. */
  readonly marker?: string | undefined;
}

/** As the environment of a process has it, JSON. */
export const faultVariable = "TC_LINT_TEST_FAULT";

type Call = (...args: readonly unknown[]) => unknown;

let fault: Fault | undefined;
let seen = 0;
let fired: string | undefined;
const descriptors = new Map<number, string>();
const handles = new WeakMap<object, string>();

/** From now on; undefined lets every call pass. */
export function arm(next: Fault | undefined): void {
  fault = next;
  seen = 0;
  fired = undefined;
  descriptors.clear();
}

/** The call that failed: `writeSync /folder/file`. */
export function firedCall(): string | undefined {
  return fired;
}

const writers =
  /^(write|append|rename|link|unlink|rm|mkdir|mkdtemp|fsync|ftruncate|chmod|chown|sync|datasync|create|utimes)/;

/** The system's error for this call, where it is the one to fail. */
function failure(name: string, path: string): NodeJS.ErrnoException | undefined {
  if (!isTurn(name, path) || fault === undefined) return undefined;
  const { kind } = fault;
  const syscall = name.replace(/(File)?(Sync)?$/, "");
  const error: NodeJS.ErrnoException = new Error(`${kind}: injected, ${syscall} '${path}'`);
  return Object.assign(error, { code: kind, errno: -1, syscall, path });
}

function isTurn(name: string, path: string): boolean {
  if (fault === undefined || !isCounted(path)) return false;
  const { kind, lasts, turn } = fault;
  const isPartial = kind === "short" || kind === "nothing";
  if (isPartial && !/^(read|write)(Sync)?$/.test(name)) return false;
  if (lasts && !writers.test(name)) return false;
  seen += 1;
  if (lasts ? seen < turn : seen !== turn) return false;
  fired ??= `${name} ${path}`;
  if (fault.marker !== undefined) original.appendFileSync(fault.marker, `${name} ${path}\n`);
  return true;
}

function isCounted(path: string): boolean {
  if (fault === undefined || path === fault.marker) return false;
  return path.startsWith("/proc/") || path === fault.folder || path.startsWith(fault.folder + sep);
}

const original = { ...fs };

function nameOf(target: unknown): string {
  if (typeof target === "number") return descriptors.get(target) ?? "";
  if (target instanceof URL) return target.pathname;
  return resolve(String(target));
}

function replace(name: keyof typeof fs, make: (call: Call) => Call): void {
  const call: unknown = Reflect.get(fs, name);
  if (typeof call !== "function") throw new Error(`node:fs has no ${name}`);
  const made = make((...args) => Reflect.apply(call, fs, args));
  Reflect.set(fs, name, Object.assign(made, call));
}

const plain = [
  "statSync",
  "lstatSync",
  "fstatSync",
  "realpathSync",
  "readlinkSync",
  "readdirSync",
  "readFileSync",
  "fsyncSync",
  "unlinkSync",
  "rmSync",
  "mkdirSync",
  "mkdtempSync",
  "chmodSync",
  "utimesSync",
  "renameSync",
  "linkSync",
] as const;
for (const name of plain) {
  replace(name, (call) => (...args) => {
    const error = failure(name, nameOf(args[0]));
    if (error !== undefined) throw error;
    return call(...args);
  });
}

replace(
  "existsSync",
  (call) =>
    (...args) =>
      failure("existsSync", nameOf(args[0])) === undefined && call(...args),
);

replace("openSync", (call) => (...args) => {
  const path = nameOf(args[0]);
  const error = failure(creates(args[1]) ? "createSync" : "openSync", path);
  if (error !== undefined) throw error;
  const descriptor = call(...args);
  if (typeof descriptor === "number" && isCounted(path)) descriptors.set(descriptor, path);
  return descriptor;
});

function creates(flags: unknown): boolean {
  return typeof flags === "number" ? (flags & fs.constants.O_CREAT) !== 0 : /[wa]/.test(String(flags ?? "r"));
}

replace("closeSync", (call) => (...args) => {
  const error = failure("closeSync", nameOf(args[0]));
  call(...args);
  descriptors.delete(Number(args[0]));
  if (error !== undefined) throw error;
});

for (const name of ["writeFileSync", "appendFileSync"] as const) {
  replace(name, (call) => (...args) => {
    const error = failure(name, nameOf(args[0]));
    if (error === undefined) return call(...args);
    const bytes = Buffer.from(args[1] instanceof Uint8Array ? args[1] : String(args[1]));
    call(args[0], bytes.subarray(0, bytes.length >> 1), args[2]);
    throw error;
  });
}

for (const name of ["readSync", "writeSync"] as const) {
  replace(name, (call) => (descriptor, buffer, ...rest) => {
    const error = failure(name, nameOf(descriptor));
    if (error === undefined) return call(descriptor, buffer, ...rest);
    if (error.code === "nothing") return 0;
    if (error.code !== "short") throw error;
    if (typeof buffer === "string") return call(descriptor, buffer.slice(0, half(buffer.length)), ...rest);
    const [offset, length, position] = rest;
    return call(descriptor, buffer, offset, half(Number(length)), position);
  });
}

/** At least one byte. */
function half(count: number): number {
  return Math.max(1, count >> 1);
}

/** What `open` of node:fs/promises gives: its methods fail as calls do. */
function wrapHandle(handle: fsPromises.FileHandle, path: string): fsPromises.FileHandle {
  handles.set(handle, path);
  return handle;
}

const { open, rm } = fsPromises;
Object.assign(fsPromises, {
  async open(path: string, flags: unknown, ...rest: readonly unknown[]) {
    const error = failure(creates(flags) ? "create" : "open", nameOf(path));
    if (error !== undefined) throw error;
    const handle = await Reflect.apply(open, fsPromises, [path, flags, ...rest]);
    patchHandles(Object.getPrototypeOf(handle));
    return wrapHandle(handle, nameOf(path));
  },
  async rm(path: string, ...rest: readonly unknown[]) {
    const error = failure("rm", nameOf(path));
    if (error !== undefined) throw error;
    return Reflect.apply(rm, fsPromises, [path, ...rest]);
  },
});

let arePatched = false;

function patchHandles(prototype: object): void {
  if (arePatched) return;
  arePatched = true;
  for (const name of ["read", "write", "stat", "sync", "datasync", "chmod", "chown", "close"] as const) {
    const call: Call = Reflect.get(prototype, name);
    Reflect.set(prototype, name, async function (this: object, ...args: readonly unknown[]) {
      const error = failure(name, handles.get(this) ?? "");
      if (error === undefined) return Reflect.apply(call, this, [...args]);
      if (name === "close") await Reflect.apply(call, this, []);
      if (error.code === "nothing") return { bytesRead: 0, bytesWritten: 0 };
      if (error.code !== "short") throw error;
      const [buffer, offset, length, position] = args;
      return Reflect.apply(call, this, [buffer, offset, half(Number(length)), position]);
    });
  }
}

syncBuiltinESMExports();

/** The error of this write to stdout, where it is the one to fail. */
export function stdoutFailure(): Error | undefined {
  return fault && failure("writeStdout", `${fault.folder}/stdout`);
}

const given = process.env[faultVariable];
if (given !== undefined && given !== "") {
  arm(JSON.parse(given));
  if (isMainThread) failOwnStdout();
}

function failOwnStdout(): void {
  const { stdout } = process;
  const write = stdout._write.bind(stdout);
  stdout._write = (chunk, encoding, done) => {
    const error = stdoutFailure();
    if (error === undefined) write(chunk, encoding, done);
    else done(error);
  };
}
