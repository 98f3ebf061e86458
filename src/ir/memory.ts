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
