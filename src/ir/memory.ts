/** @file How much memory a run may take on this machine, in this container. */
import { totalmem } from "node:os";

const share = 0.75;

/** Bytes: three quarters of the machine's memory, or of what the control group (v1 or v2) leaves this process. */
export function memoryShare(): number {
  // 0, or more than there is, where nothing limits the process.
  const constrained = process.constrainedMemory();
  const total = totalmem();
  return share * (constrained > 0 ? Math.min(total, constrained) : total);
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
