/** @file What a lock file says, and whether its holder is alive. */
import {
  closeSync,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { InputError } from "../ir/errors.ts";
import { WireError } from "../wire/error.ts";
import { readSmallFile } from "../wire/small-file.ts";
import { isRunning, temporaryName } from "./temporary.ts";

/** As JSON in the file. */
export interface LockRecord {
  readonly pid: number;
  /** Tells processes apart that had the same id. */
  readonly start: string | undefined;
  readonly host: string;
  /** Of the run of the system: what lived before a reboot does not live after it. Undefined outside Linux. */
  readonly boot: string | undefined;
  readonly token: string;
  readonly since: string;
  /** Data files that did not exist before this run, by name: garbage if it dies before its model is in place. */
  readonly made: readonly string[];
}

/** What is at a lock's path. `record` is undefined where the file does not hold one (yet). */
export type FoundLock =
  | { readonly exists: false }
  | { readonly exists: true; readonly record: LockRecord | undefined };

/** A lock file without a record is one being written right now, or one whose writer died in between. */
export const unwrittenAfterMilliseconds = 10_000;
/** A holder touches its lock every ten seconds, whatever it waits for. */
const silentAfterMilliseconds = 300_000;
/** A record names a handful of files. */
const maxRecordBytes = 1 << 20;
const removal = "remove it if no tc-lint runs here";

/** Throws InputError `locked` where what is there is no lock of tc-lint's: it is not for tc-lint to remove. */
export function readLock(path: string): FoundLock {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true) {
    throw new InputError("locked", `${path}: is a symbolic link, expected a regular file; ${removal}`);
  }
  let text: string;
  try {
    text = readSmallFile(path, maxRecordBytes).toString("utf8");
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    if (error.code === "not-found") return { exists: false };
    throw new InputError("locked", `${error.message}; ${removal}`, { cause: error });
  }
  return { exists: true, record: parseRecord(text) };
}

function parseRecord(text: string): LockRecord | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    // Half a record is none; its age decides.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
  const { pid, start, host, boot, token, since, made }: Readonly<Record<string, unknown>> = Object(value);
  if (typeof pid !== "number" || typeof host !== "string" || typeof token !== "string") return undefined;
  return {
    pid,
    host,
    token,
    start: typeof start === "string" ? start : undefined,
    boot: typeof boot === "string" ? boot : undefined,
    since: typeof since === "string" ? since : "an unknown time",
    made: Array.isArray(made) ? made.filter((name) => typeof name === "string") : [],
  };
}

/**
 * Whether the holder is known to be gone. A process seen from here is asked for; one of another container, host or run of
 * this system shows that it lives by touching its lock.
 */
export function isStale(
  { path, folder, name }: { readonly path: string; readonly folder: string; readonly name: string },
  holder: LockRecord | undefined,
): boolean {
  if (holder !== undefined && isOfHere(holder)) return !isRunning(holder.pid, holder.start);
  const age = silence(path, join(folder, temporaryName(name)));
  // A time to come was not touched by anyone either: somebody set it, or the clock.
  const bound = holder === undefined ? unwrittenAfterMilliseconds : silentAfterMilliseconds;
  return age === undefined || Math.abs(age) > bound;
}

/** Whether its process can be asked for. An id alone may be anyone's: where processes have a start, a record says it. */
function isOfHere({ host, boot, start }: LockRecord): boolean {
  const isOne = start !== undefined || process.platform !== "linux";
  return isOne && host === thisHost() && boot === thisBoot();
}

/** Milliseconds since a file was touched by the clock of its own file system: `probe` is made there, and removed. */
function silence(path: string, probe: string): number | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) return undefined;
  writeFileSync(probe, "", { flag: "wx" });
  try {
    return statSync(probe).mtimeMs - stats.mtimeMs;
  } finally {
    rmSync(probe, { force: true });
  }
}

/**
 * Says "still here" by the clock of the file's own system: the first byte of the record, written again. A lock that takes no
 * byte is taken over at worst, and its holder finds out before it replaces anything (`isHeld`).
 */
export function touch(path: string): void {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, "r+");
    writeSync(descriptor, "{", 0);
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Undefined where the system does not tell. */
export function thisBoot(): string | undefined {
  if (process.platform !== "linux") return undefined;
  return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
}

/** The host's name and, on Linux, the namespace in which process ids count. */
export function thisHost(): string {
  return process.platform === "linux" ? `${hostname()} ${readlinkSync("/proc/self/ns/pid")}` : hostname();
}
