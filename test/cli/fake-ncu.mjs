#!/usr/bin/env node
// Nsight Compute without a GPU: runs the command, and prints in ncu's form what FAKE_NCU asks for.
//
// FAKE_NCU: nothing, counters of every launch; `permission`, `driver`, `busy`, `nothing`: what ncu says then; `metric`: it does
// not know sm__inst_executed_pipe_uniform; `hole`: DRAM's counters are n/a; `other`: the third kernel is another one;
// `fewer`: the last launch was not seen. FAKE_NCU_LOG: a file that each call's arguments are added to.
import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";
import { deserialize } from "node:v8";

const mode = process.env.FAKE_NCU ?? "";
const args = process.argv.slice(2);
if (process.env.FAKE_NCU_LOG) appendFileSync(process.env.FAKE_NCU_LOG, `${JSON.stringify(args)}\n`);
const metrics = args[args.indexOf("--metrics") + 1].split(",");
const command = args.slice(args.indexOf("--metrics") + 2);
const errors = {
  permission:
    "ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters on the target device 0. For instructions on enabling permissions and to get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM",
  driver: "Cuda driver is not compatible with Nsight Compute.",
  busy: "Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) is concurrently collecting profiling data.",
  nothing: "Failed to initialize the profiler: LibraryNotLoaded",
};
console.log("==PROF== Connected to process 1234 (/usr/bin/node)");
const unknown = "sm__inst_executed_pipe_uniform";
if (mode === "metric" && metrics.some((name) => name.startsWith(`${unknown}.`))) {
  console.log(`==ERROR== Failed to find metric regex:^${unknown}\\.(sum|min|max|avg|pct|ratio|max_rate)$`);
  process.exit(1);
}
if (errors[mode] !== undefined) {
  console.log(
    `==ERROR== ${errors[mode]}\n==PROF== Disconnected from process 1234\n==WARNING== No kernels were profiled.`,
  );
  process.exit(1);
}
const { status } = spawnSync(command[0], command.slice(1), { stdio: ["ignore", "inherit", "inherit"] });
const answer = deserialize(readFileSync(`${command.at(-1)}/answer`));
const entries = (answer.result?.steps ?? []).flatMap(({ entry }) => (entry === null ? [] : [entry]));
if (mode === "other") entries[2] = "somebody_elses";
if (mode === "fewer") entries.pop();
for (const [at, entry] of entries.entries())
  console.log(`==PROF== Profiling "${entry}" - ${at}: 0%....50%....100% - 4 passes`);
console.log("==PROF== Disconnected from process 1234");
const line = (cells) => console.log(cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(","));
const launch =
  "ID,Process ID,Process Name,Host Name,Kernel Name,Context,Stream,Block Size,Grid Size,Device,CC";
const values = {
  "gpu__time_duration.sum": ["ns", "12,000"],
  "sm__cycles_elapsed.avg": ["cycle", "20,000.50"],
  "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": ["%", "73.25"],
  "dram__throughput.avg.pct_of_peak_sustained_elapsed": ["%", mode === "hole" ? "n/a" : "41.5"],
  "dram__bytes.sum": ["byte", mode === "hole" ? "n/a" : "2,048,000"],
  "sm__inst_executed.sum": ["inst", "1,000"],
};
if (entries.length > 0) {
  line([...launch.split(","), ...metrics]);
  line([...launch.split(",").map(() => ""), ...metrics.map((name) => (values[name] ?? ["inst"])[0])]);
  for (const [at, entry] of entries.entries()) {
    const where = [
      String(at),
      "1234",
      "node",
      "127.0.0.1",
      entry,
      "1",
      "7",
      "(128, 1, 1)",
      "(132, 1, 1)",
      "0",
      "9.0",
    ];
    line([...where, ...metrics.map((name) => (values[name] ?? ["inst", "100"])[1])]);
  }
}
process.exitCode = status ?? 1;
