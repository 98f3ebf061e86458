// Loaded with --import into a process that is measured: at its end it writes to descriptor 3 what it used.
import { readFileSync, writeSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  process.on("exit", () => {
    const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
    writeSync(
      3,
      JSON.stringify({
        cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
        peakBytes: maxRSS * 1024,
        bytesRead: bytesRead(),
      }),
    );
  });
}

/** Through read calls, from disk or cache alike; undefined where the system does not count them. */
function bytesRead() {
  try {
    return Number(/^rchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}
