/** A profile says which branch of an If ran: its layers are that branch's, whichever is predicted to be the dearer one. */
import { describe, expect, it } from "vitest";
import { model as modelOf } from "../../fixtures/builder.ts";
import { lint } from "../../src/api/lint.ts";
import { expectParts, expectSteps } from "../lint/sums.ts";
import { profileFolder } from "./files.ts";

const file = profileFolder();

/** Of a prompt of 512 rows and a step of one. */
function decoder(): Uint8Array {
  return modelOf({ name: "decoder", opset: 17 }, (graph) => {
    const x = graph.node("Relu", [graph.input("x", [512, 1024])], {}, { name: "start" });
    const branch = (name: string, width: number) => {
      const inner = graph.inner(name);
      const product = inner.node("MatMul", [x, inner.weight([1024, width])], {}, { name });
      inner.output(inner.node("Sigmoid", [product], {}, { name: `${name}_end` }));
      return { graph: inner };
    };
    const branches = { then_branch: branch("prompt", 4097), else_branch: branch("step", 513) };
    graph.output(graph.node("If", [graph.input("c", [], "bool")], branches, { name: "choice" }));
  });
}

function profile(times: Readonly<Record<string, number>>) {
  const run = (start: number) => [
    ...Object.entries(times).map(([name, dur], index) => ({
      ...{ pid: 1, tid: 1, ph: "X", cat: "Node", name: `${name}_kernel_time`, ts: start + index, dur },
      args: { provider: "CPUExecutionProvider" },
    })),
    { pid: 1, tid: 1, ph: "X", cat: "Session", name: "model_run", ts: start, dur: 900, args: {} },
  ];
  return [...run(0), ...run(1000), ...run(2000)];
}

describe("a profile of a model with branches", () => {
  it.each([
    ["the cheaper one", { start: 3, step: 40, step_end: 5 }, "else_branch is priced"],
    ["the dearer one", { start: 3, prompt: 400, prompt_end: 50 }, "then_branch is priced"],
    [
      "both, in turns",
      { start: 3, prompt: 400, prompt_end: 50, step: 40, step_end: 5 },
      "all that were measured are priced",
    ],
  ])("of which %s ran has that one's kernels", async (_, times, notice) => {
    const report = await lint(decoder(), {
      profile: [file("profile.json", profile(times))],
      layers: true,
      verbose: true,
    });
    const sum = Object.values(times).reduce((total, time) => total + time, 0);
    expect(report.predicted.microseconds).toBeCloseTo(sum, 9);
    const timed = report.layers?.filter(({ microseconds }) => microseconds > 0);
    expect(timed?.map(({ node }) => node)).toEqual(Object.keys(times));
    expect(report.notices.map(({ message }) => message).join()).toContain(notice);
    expectSteps(report);
    expectParts(report);
  });
});
