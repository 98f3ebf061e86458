// Loaded with --import into a process that is measured: at its end it writes to descriptor 3 what it used.
import { readFileSync, writeSync } from "node:fs";
import { isMainThread } from "node:worker_threads";

if (isMainThread) {
  process.on("exit", () => {
    const { userCPUTime, systemCPUTime } = process.resourceUsage();
    writeSync(
      3,
      JSON.stringify({
        cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
        peakBytes: peakBytes(),
        bytesRead: counter("/proc/self/io", /^rchar: (\d+)$/m),
      }),
    );
  });
}

/** Peak resident memory. The resource usage of a process counts what its parent had when it was forked: not this. */
function peakBytes() {
  const kibibytes = counter("/proc/self/status", /^VmHWM:\s+(\d+) kB$/m);
  return kibibytes === undefined ? process.resourceUsage().maxRSS * 1024 : kibibytes * 1024;
}

/** Undefined where the system has no such file. Bytes of read calls count from disk and from cache alike. */
function counter(file, pattern) {
  try {
    return Number(pattern.exec(readFileSync(file, "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}
