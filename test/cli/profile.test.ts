/** `--profile` from the command line: measured times in every format, and what is refused. */
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { Ajv } from "ajv";
import { beforeEach, describe, expect, it } from "vitest";
import { fixtureModel, fixtureProfile } from "../profile/files.ts";
import { parsePage } from "../report/html/parse.ts";
import { useWorkbench } from "./workbench.ts";

const require = createRequire(import.meta.url);
const bench = useWorkbench();
const at = (name: string) => path.join(bench.folder.path, name);
const read = (name: string) => readFileSync(at(name), "utf8");

/** Round times, so that what is printed can be read. */
const engine = [
  { count: 100 },
  { name: "Reformatting CopyNode for Input Tensor 0 to /a/a.0/Conv", averageMs: 0.01 },
  { name: "/a/a.0/Conv + PWN(PWN(/a/a.2/Sigmoid), /a/a.2/Mul)", averageMs: 0.04 },
  { name: "/b/b.0/Conv", averageMs: 0.12 },
  { name: "{ForeignNode[/b/b.2/Sigmoid.../ReduceMean]}", averageMs: 0.03 },
];

beforeEach(() => {
  copyFileSync(fixtureModel("misaligned_cnn"), at("model.onnx"));
  copyFileSync(fixtureModel("seg_unet"), at("seg_unet.onnx"));
  writeFileSync(at("profile.json"), JSON.stringify(engine));
  copyFileSync(fixtureProfile("seg_unet.ort.json"), at("ort.json"));
});

const lint = ["model.onnx", "--profile", "profile.json", "--exit-zero"];

describe("measured times", () => {
  it("are called so in text, with who measured them and what is nobody's", async () => {
    const { exitCode, stdout, stderr } = await bench.tcLint(lint);
    expect([exitCode, stderr]).toEqual([0, ""]);
    // What is predicted is another test's.
    const measured = stdout.split("\n").filter((line) => /measured|no layer names|profile\.json/.test(line));
    expect(measured.map((line) => line.replace(/were .*?;/, "were …;"))).toMatchSnapshot();
    const table = await bench.tcLint([...lint, "--table"]);
    expect(table.stdout).toMatch(/bound +measured +predicted +share/);
    expect(table.stdout).toMatch(/\/b\/b.0\/Conv .* 120 µs .* 60 %/);
    expect(table.stdout).toMatch(/\(not mapped\) .* 10 µs +0 µs +5 %/);
  });

  it("are in JSON by its schema, in Markdown, CSV and HTML", async () => {
    const formats = ["json=r.json", "markdown=r.md", "csv=r.csv", "html=r.html"].flatMap((each) => [
      "-f",
      each,
    ]);
    const { exitCode, stdout, stderr } = await bench.tcLint([...lint, ...formats]);
    expect([exitCode, stdout, stderr]).toEqual([0, "", ""]);
    const report = JSON.parse(read("r.json"));
    const ofReport = new Ajv({ allowUnionTypes: true }).compile(require("../../schemas/report.schema.json"));
    ofReport(report);
    expect(ofReport.errors).toBeNull();
    expect(report.models[0].profile).toMatchObject({
      ...{
        tool: "tensorrt",
        files: ["profile.json"],
        runs: 100,
        leftOut: 0,
        statistic: "mean",
        microseconds: 200,
      },
      unmapped: { microseconds: 10, share: 0.05, layers: [{ name: engine[1]?.name, microseconds: 10 }] },
      untimed: { nodes: 1, share: 0.125 },
    });
    expect(report.models[0].notices).toContainEqual(expect.objectContaining({ code: "profile-stack" }));
    const markdown = read("r.md");
    expect(markdown).toContain("**200 µs** measured (mean of 100 runs, by TensorRT: profile.json)");
    expect(markdown).toContain("| step | time | | by |");
    expect(markdown).toContain("5 % of the measured time (10 µs) is of layers that are no node of the model");
    expect(read("r.csv").split("\r\n")[0]).toMatch(/,predicted_microseconds$/);
    const { text } = parsePage(read("r.html"));
    expect(text).toContain("Measured, one run");
    expect(text).toContain("by TensorRT: profile.json");
    expect(text).toContain("Layers by measured rate");
    expect(text).not.toContain("Predicted, one run");
  });

  it("take the file in its own types, unless it is said that it ran in others", async () => {
    const stored = await bench.jsonOf(["seg_unet.onnx", "--profile", "ort.json", "--exit-zero"]);
    expect(stored.models[0]?.target.precision).toBe("as-is");
    expect(stored.models[0]?.account[0]).toMatchObject({ step: "exported", measured: true });
    const half = await bench.jsonOf([
      "seg_unet.onnx",
      "--profile=ort.json",
      "--precision=fp16",
      "--exit-zero",
    ]);
    expect(
      half.models[0]?.account.filter(({ measured }) => measured === true).map(({ step }) => step),
    ).toEqual(["precision"]);
  });
});

describe("a run on a CPU", () => {
  it("is told as one, and is no error of the model", async () => {
    const formats = ["-f", "markdown=r.md", "-f", "html=r.html", "-f", "text=r.txt"];
    const run = await bench.tcLint(["seg_unet.onnx", "--profile", "ort.json", ...formats]);
    expect(run).toMatchObject({ exitCode: 0, stderr: "" });
    const text = read("r.txt");
    expect(text).toMatch(
      /a CPU's run, weighed for NVIDIA H200 .*measured .*by ONNX Runtime on a CPU: ort\.json/,
    );
    expect(read("r.md")).toContain("a CPU's run, weighed for");
    for (const each of [text, read("r.md"), parsePage(read("r.html")).text])
      expect(each).not.toMatch(/on tensor cores/i);
  });
});

describe("--profile is refused", () => {
  it.each([
    [
      "for several models",
      ["model.onnx", "seg_unet.onnx"],
      /--profile: expected one model at one size and target, found 2 models/,
    ],
    [
      "for several targets",
      ["model.onnx", "--gpu", "l4,h200"],
      /--profile: expected one model .* found 2 scenarios/,
    ],
    ["beside --fix", ["--fix", "model.onnx"], /--profile: found beside --fix/],
    ["beside --diff", ["--diff", "model.onnx"], /--profile: found beside --fix/],
    ["by compare", ["compare", "model.onnx", "seg_unet.onnx"], /profile/],
    ["for another model", ["seg_unet.onnx"], /profile\.json: .* another model's profile/],
    [
      "where a report would replace it",
      ["model.onnx", "-f", "json=profile.json"],
      /profile\.json.* is read by this very command/,
    ],
  ])("%s", async (_, args, message) => {
    const { exitCode, stdout, stderr } = await bench.tcLint([...args, "--profile", "profile.json"]);
    expect(exitCode).toBe(2);
    expect(`${stdout}${stderr}`).toMatch(message);
    expect(JSON.parse(read("profile.json"))).toEqual(engine);
  });
});
