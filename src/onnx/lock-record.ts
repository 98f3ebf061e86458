/** @file What a lock file says, and whether its holder is alive. */
import { readFileSync, readlinkSync, statSync } from "node:fs";
import { hostname } from "node:os";
import { isRunning } from "./temporary.ts";
import { hasCode } from "./write-step.ts";

/** As JSON in the file. */
export interface LockRecord {
  readonly pid: number;
  /** Tells processes apart that had the same id. */
  readonly start: string | undefined;
  readonly host: string;
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
const unwrittenAfterMilliseconds = 10_000;

export function readLock(path: string): FoundLock {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return { exists: false };
    throw error;
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
  const { pid, start, host, token, since, made }: Readonly<Record<string, unknown>> = Object(value);
  if (typeof pid !== "number" || typeof host !== "string" || typeof token !== "string") return undefined;
  return {
    pid,
    host,
    token,
    start: typeof start === "string" ? start : undefined,
    since: String(since),
    made: Array.isArray(made) ? made.filter((name) => typeof name === "string") : [],
  };
}

/** Whether the holder is known to be gone. */
export function isStale(path: string, holder: LockRecord | undefined): boolean {
  if (holder === undefined) {
    const stats = statSync(path, { throwIfNoEntry: false });
    return stats === undefined || Date.now() - stats.mtimeMs > unwrittenAfterMilliseconds;
  }
  // Whether a process of another machine or container lives cannot be seen from here.
  return holder.host === thisHost() && !isRunning(holder.pid, holder.start);
}

/** The host's name and, on Linux, the namespace in which process ids count. */
export function thisHost(): string {
  return process.platform === "linux" ? `${hostname()} ${readlinkSync("/proc/self/ns/pid")}` : hostname();
}
