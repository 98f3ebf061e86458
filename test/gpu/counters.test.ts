/** @file What ncu prints, read. */
import { expect, it } from "vitest";
import { cellsOf, launchesOf } from "../../src/gpu/counters/csv.ts";
import { unknownMetrics } from "../../src/gpu/counters/ncu.ts";

it("reads cells with quotes, commas and nothing", () => {
  expect(cellsOf('"0","a ""b"" (c, d)","",1,"2,000"')).toEqual(["0", 'a "b" (c, d)', "", "1", "2,000"]);
  expect(cellsOf('"a",""')).toEqual(["a", ""]);
});

const header = '"ID","Process ID","Kernel Name","gpu__time_duration.sum","dram__bytes.sum"';

it("reads launches among ncu's messages, in the order of their numbers, in base units", () => {
  const output = [
    '==PROF== Profiling "a" - 0: 0%....100% - 3 passes',
    header,
    '"","","","usecond","Mbyte"',
    '"1","7","b(Params)","1,000.50","n/a"',
    '"0","7","a","2","0.5"',
    "==PROF== Disconnected from process 7",
  ].join("\n");
  expect(launchesOf(output)).toEqual([
    {
      kernel: "a",
      values: new Map([
        ["gpu__time_duration.sum", 2000],
        ["dram__bytes.sum", 500_000],
      ]),
    },
    { kernel: "b(Params)", values: new Map([["gpu__time_duration.sum", 1_000_500]]) },
  ]);
  expect(launchesOf("==WARNING== No kernels were profiled.")).toEqual([]);
});

it("takes no number in a unit that it does not know", () => {
  const output = [header, '"","","","fortnight","byte"', '"0","7","a","1","1"'].join("\n");
  expect(() => launchesOf(output)).toThrow(/gpu__time_duration\.sum in "fortnight"/);
});

it("knows by ncu's message which metric is missing, and no other whose name begins so", () => {
  const wanted = ["sm__inst_executed.sum", "sm__inst_executed_pipe_xu.sum", "dram__bytes.sum"];
  const said = "==ERROR== Failed to find metric regex:^sm__inst_executed_pipe_xu\\.(sum|min)$";
  expect(unknownMetrics(said, wanted)).toEqual(["sm__inst_executed_pipe_xu.sum"]);
  expect(unknownMetrics("==ERROR== Failed to find metric dram__bytes.sum", wanted)).toEqual([
    "dram__bytes.sum",
  ]);
});
