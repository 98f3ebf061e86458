/** @file What models and configurations switch off: with a reason, and not in vain. */
import onnxProto from "onnx-proto";
import { describe, expect, test } from "vitest";
import { lengthPrefixed } from "../../src/wire/splice.ts";
import { bytesOf, type HeadOptions, headModel } from "./models.ts";
import { onlyHead, useWorkbench } from "./workbench.ts";

const { onnx } = onnxProto;
const bench = useWorkbench();
const config = (overrides: readonly object[]) =>
  bench.folder.write("tc-lint.config.json", JSON.stringify({ overrides }));

/** onnx-proto knows no metadata of nodes: their field 9 is put behind what it writes. */
function withNodeMetadata(value: string, options: HeadOptions = {}): Uint8Array {
  const { graph, ...model } = headModel(options);
  const { node: nodes, ...rest } = graph ?? {};
  const [node] = nodes ?? [];
  const entry = onnx.StringStringEntryProto.encode({ key: "tc-lint.ignore", value }).finish();
  const nodeBytes = [onnx.NodeProto.encode(node ?? {}).finish(), field(9, entry)];
  const graphBytes = [field(1, Buffer.concat(nodeBytes)), onnx.GraphProto.encode(rest).finish()];
  return Buffer.concat([onnx.ModelProto.encode(model).finish(), field(7, Buffer.concat(graphBytes))]);
}

function field(number: number, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([lengthPrefixed(number, bytes.length), bytes]);
}

describe("--report-unused-suppressions", () => {
  const unused = ["--report-unused-suppressions", ...onlyHead];
  const notices = async (...args: string[]) => {
    const { exitCode, stdout } = await bench.tcLint([...args, ...unused, "-f", "json"]);
    const [model] = JSON.parse(stdout).models;
    return { exitCode, model, notices: model.notices.map(({ message }: { message: string }) => message) };
  };

  test("passes what has something to suppress, and lists it only where that is asked for", async () => {
    bench.folder.write(
      "a.onnx",
      withNodeMetadata("TC102 -- fixed", { metadata: { "tc-lint.ignore": "TC301" } }),
    );
    const { exitCode, model } = await notices("a.onnx");
    // TC301 is not selected: nobody looked for it.
    expect([exitCode, model.suppressed, model.suppressions]).toEqual([0, 1, undefined]);
  });

  test("names what a model's metadata suppresses in vain, and a rule that nobody knows", async () => {
    const metadata = { "tc-lint.ignore": "TC102, misaligned-gem -- the vocabulary is fixed" };
    bench.folder.write("a.onnx", withNodeMetadata("misaligned-gemm", { n: 50304, metadata }));
    const { exitCode, notices: said } = await notices("a.onnx");
    expect(exitCode).toBe(1);
    expect(said).toEqual(
      expect.arrayContaining([
        'tc-lint.ignore of the model: "TC102" suppresses nothing',
        'tc-lint.ignore of the model: "misaligned-gem" suppresses nothing',
        'tc-lint.ignore of "/lm_head/MatMul": "misaligned-gemm" suppresses nothing',
      ]),
    );
    const quiet = await bench.tcLint(["a.onnx", ...onlyHead]);
    expect([quiet.exitCode, quiet.stdout]).toEqual([0, expect.not.stringContaining("suppresses nothing")]);
    expect((await bench.tcLint(["a.onnx", ...unused, "--exit-zero"])).exitCode).toBe(0);
  });

  test("names an override that no model of the run needs", async () => {
    bench.folder.write("a.onnx", bytesOf(headModel()));
    bench.folder.write("b.onnx", bytesOf(headModel({ nodeName: "other" })));
    config([
      { nodes: ["/lm_head/*"], rules: { TC1: "off" } },
      { nodes: ["/lm_head"], rules: { TC102: "off" } },
      { nodes: ["none"], rules: { TC102: "error" } },
    ]);
    const { exitCode, stderr } = await bench.tcLint([
      "a.onnx",
      "b.onnx",
      ...unused,
      "--min-saving",
      "0",
      "-j",
      "2",
    ]);
    expect(exitCode).toBe(1);
    expect(stderr).toBe("tc-lint: tc-lint.config.json: overrides[1]: switches off what is found nowhere\n");
    expect((await bench.tcLint(["a.onnx", "b.onnx", "--select", "TC301", unused[0] ?? ""])).stderr).toBe("");
  });
});

test("an override says why, and --show-suppressed says it again", async () => {
  bench.folder.write("a.onnx", bytesOf(headModel()));
  config([{ nodes: ["/lm_head/*"], rules: { TC102: "off" }, reason: "the vocabulary is fixed" }]);
  const report = await bench.jsonOf(["a.onnx", ...onlyHead, "--show-suppressed"]);
  expect(report.models[0]?.suppressions).toMatchObject([
    { by: "configuration", reason: "the vocabulary is fixed" },
  ]);
  const { stdout } = await bench.tcLint(["a.onnx", ...onlyHead, "--show-suppressed", "-f", "sarif"]);
  expect(JSON.parse(stdout).runs[0].results[0].suppressions).toEqual([
    { kind: "external", justification: "the vocabulary is fixed" },
  ]);
});
