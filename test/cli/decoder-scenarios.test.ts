/** Sizes of a decoder's prompt and past as scenarios: each is what it is alone, the total of both is no axis, and what fails says where. */
import { describe, expect, test } from "vitest";
import { dynamoDecoder } from "../../fixtures/decoder/dynamo.ts";
import { decoderSizes, plainForm } from "../../fixtures/decoder/sizes.ts";
import { useWorkbench } from "./workbench.ts";

const bench = useWorkbench();
function decoder(): void {
  const form = { ...plainForm, dtype: "float16" } as const;
  const { bytes } = dynamoDecoder({
    name: "small",
    sizes: decoderSizes["llama-small"],
    form,
    isExternal: true,
  });
  bench.folder.write("small.onnx", bytes);
}
const batch = ["--dim", "batch_size=1"];
const several = [...batch, "--dim", "sequence_length=1,128", "--dim", "past_sequence_length=0,512"];

describe.each(["tc-runtime", "ort-cuda"])("on %s", (stack) => {
  test("each scenario is the report of a run of its own", async () => {
    decoder();
    const { models } = await bench.jsonOf(["small.onnx", "--stack", stack, ...several]);
    expect(models).toHaveLength(4);
    expect(new Set(models.map(({ predicted }) => predicted.microseconds)).size).toBe(4);
    for (const { scenario = "", samples: _, ...model } of models) {
      const dims = scenario.split(", ").flatMap((dim) => ["--dim", dim]);
      const alone = await bench.jsonOf(["small.onnx", "--stack", stack, ...batch, ...dims]);
      expect(alone.models, scenario).toEqual([model]);
    }
  });

  test("the table has the axes that were asked for, and no other", async () => {
    decoder();
    const { stdout } = await bench.tcLint(["small.onnx", "--stack", stack, ...several]);
    const names = stdout.split("\n")[3]?.trim().split(/ {2,}/);
    expect(names?.slice(0, 3)).toEqual(["sequence_length", "past_sequence_length", "predicted"]);
  });

  test("a scenario that fails has its sizes, and says which they are", async () => {
    decoder();
    const args = ["small.onnx", "--stack", stack, ...batch, "--dim", "sequence_length=1,0"];
    const { models } = await bench.jsonOf(args);
    expect(models.map(({ error }) => error?.code)).toEqual([undefined, "bad-size"]);
    expect(models[1]?.symbols).toMatchObject({ batch_size: 1, sequence_length: 0 });
    const { exitCode, stdout } = await bench.tcLint(args);
    expect(exitCode).toBe(2);
    expect(stdout).toMatch(/^ {2}sequence_length +predicted/m);
    expect(stdout).toMatch(/^ +0 +failed/m);
    expect(stdout).toMatch(/error +bad-size .*output "logits".*\(sequence_length=0\)/);
  });
});
