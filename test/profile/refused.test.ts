/** Files of `--profile` may be anybody's: what is wrong with one is an error with a name. */
import { describe, expect, it } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { fixtureModel, fixtureProfile, profileFolder } from "./files.ts";

const file = profileFolder();
const model = fixtureModel("misaligned_cnn");

const layer = (fields: object) => [{ count: 1 }, { name: "/a/a.0/Conv", ...fields }];
const event = (fields: object) => [{ cat: "Node", name: "/fc/Gemm_kernel_time", ts: 1, args: {}, ...fields }];

const cases: readonly (readonly [what: string, content: unknown, code: string, message: RegExp])[] = [
  ["text", "Layer  Time (ms)", "bad-profile", /is not valid JSON/],
  ["a number that JSON lacks", '[{"name": "a", "averageMs": NaN}]', "bad-profile", /is not valid JSON/],
  ["nothing", "", "bad-profile", /is not valid JSON/],
  ["gzip", Buffer.from([0x1f, 0x8b, 8, 0]).toString("latin1"), "bad-profile", /JSON/],
  ["an empty list", [], "empty-profile", /empty list/],
  ["a number", 7, "unknown-profile", /expected what trtexec/],
  ["null", null, "unknown-profile", /expected what trtexec/],
  ["something else", { models: [] }, "unknown-profile", /expected what trtexec/],
  ["a list of something else", [1, "a", null], "unknown-profile", /expected what trtexec/],
  [
    "a negative time",
    layer({ averageMs: -1 }),
    "bad-profile",
    /found -1 for "averageMs" of "\/a\/a.0\/Conv"/,
  ],
  ["a time that is no number", layer({ averageMs: "1" }), "bad-profile", /found "1" for "averageMs"/],
  [
    "a time beyond all numbers",
    '[{"name": "/a/a.0/Conv", "averageMs": 1e999}]',
    "bad-profile",
    /found Infinity/,
  ],
  [
    "times that no run takes",
    [...layer({ averageMs: 1.7e305 }), ...layer({ averageMs: 1.7e305 })],
    "bad-profile",
    /found 1.7e\+305 for "averageMs".*below a year/,
  ],
  ["no time at all", layer({ averageMs: 0 }), "empty-profile", /no layer of TensorRT has a time/],
  ["a negative duration", event({ dur: -3 }), "bad-profile", /found -3 for "dur"/],
  ["an event without one", event({}), "bad-profile", /found none for "dur"/],
  ["no events", { traceEvents: [] }, "empty-profile", /no layer of PyTorch has a time/],
  ["no layer's times", { Layers: ["a"] }, "empty-profile", /exportProfile/],
  [
    "another model's nodes",
    [{ name: "/x/Conv", averageMs: 1 }],
    "profile-mismatch",
    /another model's profile/,
  ],
  ["one node of many", layer({ averageMs: 1 }), "profile-mismatch", /13 % of these have a time/],
];

describe("a profile that is", () => {
  it.each(cases)("%s is refused", async (_, content, code, message) => {
    const path = file("profile.json", content);
    await expect(lint(model, { profile: [path] })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });

  it("not there is refused", async () => {
    await expect(lint(model, { profile: ["nowhere.json"] })).rejects.toMatchObject({
      code: "bad-profile",
      message: expect.stringContaining("nowhere.json"),
    });
  });

  it("one of two is refused, as are layers beside another tool's", async () => {
    const recorded = fixtureProfile("seg_unet.ort.json");
    await expect(lint(model, { profile: [recorded, recorded] })).rejects.toThrow(
      /expected one profile of one model/,
    );
    const layers = file("layers.json", { Layers: ["a"] });
    await expect(lint(model, { profile: [recorded, layers] })).rejects.toThrow(
      /beside a profile of ONNX Runtime/,
    );
    const engine = file("engine.json", layer({ averageMs: 1 }));
    await expect(lint(model, { profile: [engine, layers] })).rejects.toThrow(/another engine's/);
  });

  it("beside a stack with a planner of its own is refused", async () => {
    const options = { stack: "tc-runtime", profile: [fixtureProfile("seg_unet.ort.json")] } as const;
    await expect(lint(fixtureModel("seg_unet"), options)).rejects.toMatchObject({ code: "usage" });
  });

  it("hostile takes no time: names that repeat, lie within each other, or never end", async () => {
    const many = Array.from({ length: 200_000 }, (_, index) => ({
      ...{ name: `{ForeignNode[/a/a.0/Conv.../fc/Gemm]} + PWN(PWN(${index % 7}`, averageMs: 1e-6 },
    }));
    const long = {
      name: `${"PWN(".repeat(200_000)}${")".repeat(200_000)} + {ForeignNode[`.repeat(2),
      averageMs: 1,
    };
    const before = performance.now();
    const path = file("many.json", [...many, long, { name: "/a/a.0/Conv", averageMs: 10 }]);
    const report = await lint(model, { profile: [path], stack: "tensorrt" });
    expect(report.profile?.untimed.nodes).toBe(0);
    const deep = Array.from({ length: 100_000 }, (_, index) => ({
      ...{ cat: "user_annotation", name: "a.0", pid: 1, tid: 1, ts: index, dur: 1e6 - index },
    }));
    const kernels = Array.from({ length: 100_000 }, (_, index) => ({
      ...{ cat: "kernel", name: "k", pid: 1, tid: 1, ts: 200_000 + index, dur: 1, args: {} },
    }));
    const trace = file("deep.json", { traceEvents: [...deep, ...kernels] });
    await expect(lint(model, { profile: [trace] })).rejects.toMatchObject({ code: "profile-mismatch" });
    expect(performance.now() - before).toBeLessThan(30_000);
  });
});
