import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { sharedPath } from "../shared.ts";
import { smallModel } from "./bad-inputs/bytes.ts";
import { mutate, randomNumbers, survive } from "./fuzz.ts";

/** Small ones of different kinds; `npm run fuzz:read` takes all, for as long as it is let. */
const names = ["misaligned_mlp_dynamo", "crnn", "shufflenet_v2", "tcn", "llama_dynamo", "mobilevit_xs"];

async function fuzz(bytes: Uint8Array, rounds: number, seed: number): Promise<Map<string, number>> {
  const random = randomNumbers(seed);
  const codes = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    const { code, seconds } = await survive(mutate(bytes, random));
    codes.set(code, (codes.get(code) ?? 0) + 1);
    expect(seconds).toBeLessThan(5);
  }
  return codes;
}

describe("A damaged model", () => {
  it("is refused by name or linted, never a crash", async () => {
    const codes = await fuzz(smallModel(), 3000, 1);
    expect(codes.size).toBeGreaterThan(10);
    expect(codes.get("linted")).toBeGreaterThan(100);
  });

  const zoo = sharedPath("zoo");
  it.skipIf(zoo === undefined).each(names)(
    "is refused by name or linted, never a crash: %s",
    async (name) => {
      const codes = await fuzz(readFileSync(`${zoo}/${name}.onnx`), 60, names.indexOf(name));
      expect(codes.size).toBeGreaterThan(2);
    },
  );
});
