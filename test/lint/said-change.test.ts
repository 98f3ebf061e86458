/** What saves time says how: a command, a setting, or the change in PyTorch's words. */
import { describe, expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { stackIds } from "../../src/hardware/stacks.ts";
import type { FindingGroup } from "../../src/lint/result.ts";
import { eachModel, zooModel } from "../zoo.ts";

/** What somebody types in the network or its export; sizes that padding changes are those of its layers. */
const inPyTorch = /\b(?:F|nn|model|torch)\.\w|\bopset \d+|\bpad |\bwidth in heads of /;

const isUntold = ({ saves, fixCommand, setting, message }: FindingGroup) =>
  saves !== null && fixCommand === null && setting === undefined && !inPyTorch.test(message);

/** What has no saving to claim: what to write or keep, or that nothing is to be done. */
const inWords = /\bnothing to mend\b|\bkeep it in FP32\b|\buse -32752\b|\btwice the batch\b/;

const looked = ["bert", "c3d", "llama_dynamo", "sd_unet", "siglip_so400m_d2", "whisper_encoder"];

describe.each(stackIds)("on %s", (stack) => {
  eachModel(looked)("%s: every entry with a saving says what to do", async (name) => {
    const { groups } = await lint(zooModel(name), { stack });
    expect(groups.filter(isUntold).map(({ code, message }) => `${code} ${message}`)).toEqual([]);
  });

  eachModel([...looked, "mobilenet_v2", "vit_tiny"])("%s: so does every entry without one", async (name) => {
    const { groups } = await lint(zooModel(name), { stack, verbose: true });
    const without = groups.filter(({ saves, fixCommand }) => saves === null && fixCommand === null);
    for (const { code, message } of without) expect(`${code} ${message}`).toMatch(inWords);
  });
});

eachModel(["llama_dynamo", "vit_tiny_dynamo"])("%s calls it already: the opset alone", async (name) => {
  const { groups } = await lint(zooModel(name), { stack: "cudnn" });
  const [attention] = groups.filter(({ code }) => code === "TC401");
  expect(attention?.message).toContain("export its F.scaled_dot_product_attention with opset 23 or later");
});

eachModel(["gpt2_dynamo", "llama"])("%s does not say that it calls it", async (name) => {
  const { groups } = await lint(zooModel(name), { stack: "cudnn" });
  const [attention] = groups.filter(({ code }) => code === "TC401");
  expect(attention?.message).toMatch(/one: F\.scaled_dot_product_attention, exported with opset 23 or later/);
});
