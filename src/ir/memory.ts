/** @file How much memory a run may take on this machine, in this container. */
import { totalmem } from "node:os";

const share = 0.75;

let leftBytes: () => number = () => Number.POSITIVE_INFINITY;

/** What else limits this process, in bytes: control groups above its own, which files tell and Node does not. */
export function limitMemoryBy(bytes: () => number): void {
  leftBytes = bytes;
}

/** Bytes: three quarters of the machine's memory, or of what control groups (v1 or v2) leave this process. */
export function memoryShare(): number {
  // 0, or more than there is, where nothing limits the process.
  const constrained = process.constrainedMemory();
  const own = constrained > 0 ? constrained : Number.POSITIVE_INFINITY;
  return share * Math.min(totalmem(), own, leftBytes());
}

/** In the largest unit that leaves a whole one: `1.5 GiB`, `51.2 MiB`. */
export function bytesText(bytes: number): string {
  const units = [
    [2 ** 40, "TiB"],
    [2 ** 30, "GiB"],
    [2 ** 20, "MiB"],
    [2 ** 10, "KiB"],
  ] as const;
  for (const [unit, name] of units) if (bytes >= unit) return `${Number((bytes / unit).toFixed(2))} ${name}`;
  return `${bytes} B`;
}
