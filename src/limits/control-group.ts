/**
 * @file How much memory the control groups of this process leave it. libuv (1.46, in Node 20) reads the group that the process
 * is in and none above it; the kernel holds a process to the limits of all of them.
 */
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { minOf } from "../ir/lists.ts";

/** The text of a file; undefined where it cannot be read. */
export type ReadText = (path: string) => string | undefined;

/** Bytes: the smallest limit from the process's group up to the topmost; Infinity where there is none, or no Linux. */
export function groupMemoryBytes(read: ReadText = readText): number {
  const lines = read("/proc/self/cgroup")?.split("\n") ?? [];
  const limits = lines
    .flatMap(filesOf)
    .map((path) => limitIn(read(path)))
    .filter((limit) => limit > 0);
  return minOf([Number.POSITIVE_INFINITY, ...limits]);
}

/** Where limits of a line's group are, and of those above it. A line is `number:controllers:path`. */
function filesOf(line: string): string[] {
  const [number, controllers, ...path] = line.split(":");
  const group = path.join(":");
  if (number === undefined || controllers === undefined || !group.startsWith("/")) return [];
  const [mount, files] = number === "0" && controllers === "" ? version2 : version1;
  if (mount === version1[0] && !controllers.split(",").includes("memory")) return [];
  // Whoever is outside the namespace of a group sees it as "/../…".
  return upwards(posix.normalize(group)).flatMap((each) =>
    files.map((file) => posix.join(mount, each, file)),
  );
}

const version1 = ["/sys/fs/cgroup/memory", ["memory.limit_in_bytes"]] as const;
/** Beyond `memory.high` a group is slowed down until hardly anything runs. */
const version2 = ["/sys/fs/cgroup", ["memory.max", "memory.high"]] as const;

/** `/a/b`, `/a`, `/`. A container may see but the last of them. */
function upwards(group: string): string[] {
  return group === "/" ? ["/"] : [group, ...upwards(posix.dirname(group))];
}

/** `max`, and what is no number, limits nothing: 0. */
function limitIn(text: string | undefined): number {
  return text !== undefined && /^\d+\n?$/.test(text) ? Number(text) : 0;
}

/** Groups are there on Linux alone, and a container need not show them. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error) return undefined;
    throw error;
  }
}
