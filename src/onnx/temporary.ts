/** @file Names of files that exist while a model is written, and the removal of those that outlived their writer. */
import { createHash, randomBytes } from "node:crypto";
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { isDataName, maxNameBytes } from "./data-name.ts";
import { hasCode } from "./write-step.ts";

/** A writer touches its file all the time: one untouched for this long has none, whoever has its process id now. */
const abandonedAfterMilliseconds = 3_600_000;

/** `.<name of the model>.tc-lint<suffix>`, with a hash in the name's place where it would be too long. */
export function neighbourName(modelName: string, suffix: string): string {
  const name = `.${modelName}.tc-lint${suffix}`;
  if (Buffer.byteLength(name) <= maxNameBytes) return name;
  return `.${createHash("sha256").update(modelName).digest("hex").slice(0, 32)}.tc-lint${suffix}`;
}

/** A name nobody can guess, which says whose it is. */
export function temporaryName(modelName: string): string {
  return neighbourName(modelName, `-${process.pid}-${randomBytes(8).toString("hex")}.tmp`);
}

/** Whether writing a model makes a file of that name beside it, for good or for a while: itself, its data, a lock, a temporary file. */
export function isWrittenName(modelName: string, name: string): boolean {
  const passing =
    name === neighbourName(modelName, ".lock") || name.startsWith(neighbourName(modelName, "-"));
  return name === modelName || isDataName(modelName, name) || passing;
}

/** None where nobody may list them: nothing can be cleared up there. */
function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (hasCode(error, "EACCES") || hasCode(error, "EPERM")) return [];
    throw error;
  }
}

/** Whether a lock or temporary files of a model lie there, of whomever. */
export function hasLeftovers(folder: string, modelName: string): boolean {
  const [lock, start] = [neighbourName(modelName, ".lock"), neighbourName(modelName, "-")];
  return namesIn(folder).some((name) => name === lock || name.startsWith(start));
}

/** Removes temporary files of a model whose writer is gone. Call it with the model's lock held. */
export function removeLeftovers(folder: string, modelName: string): void {
  const start = neighbourName(modelName, "-");
  for (const name of namesIn(folder)) {
    if (!name.startsWith(start)) continue;
    const [, pid] = /^(\d+)-[0-9a-f]{16}\.tmp$/.exec(name.slice(start.length)) ?? [];
    if (pid === undefined) continue;
    const path = join(folder, name);
    if (!isRunning(Number(pid)) || isAbandoned(path)) rmSync(path, { force: true });
  }
}

function isAbandoned(path: string): boolean {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats !== undefined && Date.now() - stats.mtimeMs > abandonedAfterMilliseconds;
}

/** Whether a process of this id runs here; with `start`, the very one that had it then. */
export function isRunning(pid: number, start?: string): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    // EPERM: it runs, for someone else.
    if (!hasCode(error, "EPERM")) return false;
  }
  const now = processStart(pid);
  return start === undefined || now === undefined || now === start;
}

/** When a process began, in the system's ticks; ids are used again. Undefined outside Linux. */
export function processStart(pid: number): string | undefined {
  if (process.platform !== "linux") return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The program's name, in parentheses, may hold spaces; the start is the 20th field behind it (proc(5)).
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch (error) {
    if (error instanceof Error && "code" in error) return undefined;
    throw error;
  }
}
