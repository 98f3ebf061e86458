/** Steps that `tc-lint bench` and `validate` measured: which of them are meant, at which sizes, and what is refused by name. */
import { basename } from "node:path";
import { describe, expect, it } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { profileNotes } from "../../src/report/profile-text.ts";
import { benchOf, device, timesOf } from "./bench-file.ts";
import { fixtureModel, profileFolder } from "./files.ts";

const file = profileFolder();
const model = fixtureModel("misaligned_cnn");

const step = (label: string, median: number, operator = "Conv") => ({
  label,
  operator,
  times: timesOf(median),
});
/** Launches of the first convolution are two, and its Sigmoid and Mul are part of it. */
const steps = [
  step("/a/a.0/Conv", 30),
  step("/a/a.0/Conv", 10),
  step("/b/b.0/Conv", 120),
  step("/ReduceMean", 20, "ReduceMean"),
  step("/fc/Gemm", 15, "Gemm"),
  step("x", 5, "input"),
];

const run = (fields: object) => ({
  ...{ name: "FP16 as exported", model, precision: "fp16", fixed: false, sizes: {}, times: timesOf(210) },
  ...{ steps, ...fields },
});
const bench = (...runs: readonly object[]) => ({ gpu: device, configurations: runs });
const repaired = run({ name: "FP16 fixed", fixed: true });

const measured = (content: object, options: object = {}) =>
  lint(model, { profile: [file("bench.json", content)], gpu: "h200", layers: true, ...options });

const timeOf = ({ layers = [] }: Awaited<ReturnType<typeof lint>>, name: string) =>
  layers.find(({ node, op }) => node === name || op === name)?.microseconds;

/** Without what is said of the fixture itself. */
const said = ({ notices }: Awaited<ReturnType<typeof lint>>) =>
  notices.filter(({ code }) => code !== "weights-missing");

it("counts of a launch beside others what the run takes longer by", async () => {
  const beside = steps.map((each) =>
    each.label.endsWith("Conv") ? { ...each, runShare: 0.5 } : { ...each, runShare: null },
  );
  const report = await measured(bench(run({ steps: beside })), { stack: "tc-runtime" });
  expect(report.predicted.microseconds).toBeCloseTo(120, 9);
  expect(timeOf(report, "/b/b.0/Conv")).toBeCloseTo(60, 9);
});

describe("a bench is the account of the stack that it ran", () => {
  it("launch by launch, with what is no node's beside", async () => {
    const report = await measured(bench(run({})), { stack: "tc-runtime" });
    expect(report.predicted).toMatchObject({ microseconds: 200, low: 200, high: 200, basis: "profile" });
    expect(timeOf(report, "/a/a.0/Conv")).toBeCloseTo(40, 9);
    expect(timeOf(report, "/b/b.0/Conv")).toBeCloseTo(120, 9);
    expect(timeOf(report, "/fc/Gemm")).toBeCloseTo(15, 9);
    expect(timeOf(report, "(not mapped)")).toBeCloseTo(5, 9);
    expect(report.profile).toMatchObject({
      ...{ tool: "tc-lint", gpu: "NVIDIA H200", runs: 3, statistic: "median", microseconds: 200 },
      wholeMicroseconds: 210,
      unmapped: { microseconds: 5, layers: [{ name: "x", microseconds: 5 }] },
      untimed: { nodes: 0 },
    });
    expect(said(report)).toEqual([]);
    expect(report.target).toMatchObject({ stack: "tc-runtime", precision: "fp16" });
    expect(report.account.find(({ measured: isMeasured }) => isMeasured === true)).toMatchObject({
      step: "precision",
      microseconds: 200,
    });
  });

  it("with the whole run in FP32 in a note, which no line of the account is: its steps were not timed", async () => {
    const single = { name: "FP32", precision: "fp32", steps: [], times: timesOf(480) };
    const alone = await measured(bench(run({})), { stack: "tc-runtime" });
    const report = await measured(bench(run(single), run({}), repaired), { stack: "tc-runtime" });
    expect(report.profile?.wholeFp32Microseconds).toBe(480);
    expect(profileNotes(report)).toContainEqual(
      expect.stringMatching(/^a whole run in FP32 took 480 µs in the same benchmark, beside 210 µs;/),
    );
    expect(report.account).toEqual(alone.account);
    for (const other of [{ model: "other.onnx" }, { sizes: { batch: 9 } }, { fixed: true }]) {
      const runs = [run({ ...single, ...other }), run({})];
      const { profile } = await measured(bench(...runs), { stack: "tc-runtime" });
      expect(profile?.wholeFp32Microseconds).toBeUndefined();
    }
    const itself = await measured(bench(run({ ...single, steps })), { stack: "tc-runtime" });
    expect(itself.profile?.wholeFp32Microseconds).toBeUndefined();
  });

  it("where the planner foresees no launch, too", async () => {
    const unet = fixtureModel("seg_unet");
    const content = await benchOf(unet, { precision: "fp16", times: 2 });
    const [configuration] = content.configurations;
    const plain = await lint(unet, { stack: "tc-runtime", precision: "fp16", layers: true });
    expect(timeOf(plain, "/Concat")).toBe(0);
    const more = { ...configuration, steps: [...(configuration?.steps ?? []), step("/Concat", 7, "Concat")] };
    const profile = [file("bench.json", { ...content, configurations: [more] })];
    const report = await lint(unet, { stack: "tc-runtime", profile, layers: true });
    expect(timeOf(report, "/Concat")).toBeCloseTo(7, 9);
    expect(report.predicted.microseconds).toBeCloseTo(2 * plain.predicted.microseconds + 7, 6);
  });

  it("of other stacks it is said to be another one's", async () => {
    const report = await measured(bench(run({})), { stack: "ort-cuda" });
    expect(report.predicted.microseconds).toBeCloseTo(200, 9);
    expect(said(report)).toEqual([
      expect.objectContaining({
        code: "profile-stack",
        message: expect.stringMatching(/of tc-lint's own runtime, and .* ort-cuda: --stack tc-runtime/),
      }),
    ]);
  });

  it("of another GPU it is said to be of that", async () => {
    const report = await measured(bench(run({})), { stack: "tc-runtime", gpu: "l4" });
    expect(said(report)).toEqual([
      expect.objectContaining({
        code: "profile-gpu",
        message: expect.stringMatching(/run on NVIDIA H200: .* --gpu h200 is where/),
      }),
    ]);
  });

  it("a validation's steps are read as well", async () => {
    const { name: _, fixed: __, sizes: ___, ...after } = run({});
    const runs = [
      { ...run({}), steps: undefined },
      { ...after, name: "after, fp16" },
    ];
    const content = {
      model,
      against: model,
      gpu: device,
      draws: [{ name: "normal", sizes: { batch: 3 } }],
      runs,
    };
    const report = await measured(content, { stack: "tc-runtime" });
    expect(report.predicted.microseconds).toBeCloseTo(200, 9);
    expect(report.profile?.wholeMicroseconds).toBe(210);
    expect(report.symbols).toEqual({ batch: 3 });
  });
});

describe("of several configurations", () => {
  const single = run({ name: "FP32", precision: "fp32", steps: [...steps, step("y", 100)] });
  const stored = run({ name: "MODEL as exported", precision: "model", steps: [...steps, step("y", 50)] });

  it.each([
    ["that of the target's precision is taken", { precision: "fp32" }, "fp32", 300],
    ["as the file is stored before all where nobody says", {}, "as-is", 250],
  ] as const)("%s", async (_, options, precision, microseconds) => {
    const report = await measured(bench(single, repaired, run({}), stored), {
      ...options,
      stack: "tc-runtime",
    });
    expect(report.target.precision).toBe(precision);
    expect(report.predicted.microseconds).toBeCloseTo(microseconds, 9);
  });

  it("then FP16, and never one that was repaired", async () => {
    const report = await measured(bench(single, repaired, run({})), { stack: "tc-runtime" });
    expect(report.target.precision).toBe("fp16");
    expect(report.predicted.microseconds).toBeCloseTo(200, 9);
  });

  it("of two models the one that is linted, wherever it lies", async () => {
    const other = run({ model: "other.onnx", steps: [...steps, step("y", 300)] });
    const moved = run({ model: `elsewhere/${basename(model)}` });
    const report = await measured(bench(other, moved), { stack: "tc-runtime" });
    expect(report.predicted.microseconds).toBeCloseTo(200, 9);
    await expect(measured(bench(other, run({ model: "third.onnx" })))).rejects.toMatchObject({
      code: "profile-mismatch",
      message: expect.stringMatching(/steps of other\.onnx and third\.onnx; expected those of/),
    });
  });
});

describe("sizes of symbols", () => {
  const content = bench(run({ sizes: { batch: 4 } }));

  it("are those of the bench; others are refused", async () => {
    const report = await measured(content, { stack: "tc-runtime" });
    expect(report.symbols).toEqual({ batch: 4 });
    expect(report.assumed).toEqual([]);
    await expect(measured(content, { stack: "tc-runtime", dims: { batch: 8 } })).rejects.toMatchObject({
      code: "profile-mismatch",
      message: expect.stringMatching(
        /measured at batch=4, found batch=8; expected --dim batch=4, or tc-lint bench --dim batch=8/,
      ),
    });
  });

  it("may be told by whole shapes, which are held to them", async () => {
    const of = (batch: number) => ({ stack: "tc-runtime", shapes: { x: [batch, 3, 64, 64] } });
    expect((await measured(content, of(4))).symbols).toEqual({ batch: 4 });
    await expect(measured(content, of(2))).rejects.toMatchObject({ code: "profile-mismatch" });
  });
});

const cases: readonly (readonly [
  what: string,
  content: object,
  options: object,
  code: string,
  message: RegExp,
])[] = [
  [
    "of the repaired model alone",
    bench(run({ steps: [] }), repaired),
    {},
    "profile-mismatch",
    /repaired model alone \(FP16 fixed\), not of .* tc-lint bench --no-fix --precision fp16 -f json/,
  ],
  [
    "in another precision than the one that is named",
    bench(run({})),
    { precision: "tf32" },
    "profile-mismatch",
    /steps in fp16, and the target's precision is tf32; expected --precision fp16, or tc-lint bench .* tf32/,
  ],
  [
    "for INT8, which runs as it is stored",
    bench(run({})),
    { precision: "int8" },
    "profile-mismatch",
    /tc-lint bench --no-fix --precision as-is/,
  ],
  ["without steps", bench(run({ steps: [] })), {}, "empty-profile", /no steps were timed/],
  ["without configurations", bench(), {}, "empty-profile", /no steps were timed/],
  [
    "of other nodes",
    bench(run({ steps: [step("/x", 1)] })),
    {},
    "profile-mismatch",
    /another model's profile/,
  ],
  [
    "of one node of many",
    bench(run({ steps: [step("/fc/Gemm", 1, "Gemm")] })),
    {},
    "profile-mismatch",
    /of these have a time/,
  ],
  [
    "with a precision that is none",
    bench(run({ precision: "fp8" })),
    {},
    "bad-profile",
    /precision "fp8", expected one of model, fp16/,
  ],
  [
    "with a step without times",
    bench(run({ steps: [{ label: "a" }] })),
    {},
    "bad-profile",
    /"a" has no times/,
  ],
  [
    "whose last steps are missing",
    bench(run({ launches: steps.length + 1 })),
    {},
    "bad-profile",
    /"FP16 as exported" has 6 steps, expected one for each of its 7 launches/,
  ],
  [
    "with a negative time",
    bench(run({ steps: [step("/fc/Gemm", -1)] })),
    {},
    "bad-profile",
    /found -1 for "median"/,
  ],
  [
    "with a time that no run takes",
    bench(run({ steps: [step("/fc/Gemm", 1e300)] })),
    {},
    "bad-profile",
    /found 1e\+300 for "median" of "\/fc\/Gemm"/,
  ],
  [
    "that is a plan",
    [{ model: "m.onnx", steps: [{ label: "/fc/Gemm" }], predictedMicroseconds: 4 }],
    {},
    "empty-profile",
    /a plan.*without --plan/,
  ],
  ["with a step without a label", bench(run({ steps: [{}] })), {}, "bad-profile", /found no "label"/],
  ["that took no time", bench(run({ steps: [step("/fc/Gemm", 0)] })), {}, "empty-profile", /has a time/],
];

describe("a bench is refused", () => {
  it.each(cases)("%s", async (_, content, options, code, message) => {
    await expect(measured(content, { ...options, stack: "tc-runtime" })).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });
});
