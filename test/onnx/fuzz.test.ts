import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { eachModel, zooModel } from "../zoo.ts";
import { smallModel } from "./bad-inputs/bytes.ts";
import { mutate, randomNumbers, survive } from "./fuzz.ts";
import { rewire } from "./rewire.ts";

/** Small ones of different kinds; `npm run fuzz` takes more, for as long as it is let. */
const names = ["misaligned_mlp_dynamo", "crnn", "shufflenet_v2", "tcn", "llama_dynamo", "mobilevit_xs"];

type Damage = (bytes: Uint8Array, random: () => number) => Uint8Array;

/** How often each outcome came about. */
async function fuzz(bytes: Uint8Array, damage: Damage, rounds: number): Promise<Map<string, number>> {
  const random = randomNumbers(bytes.length);
  const codes = new Map<string, number>();
  for (let round = 0; round < rounds; round++) {
    const { code, seconds } = await survive(damage(bytes, random));
    codes.set(code, (codes.get(code) ?? 0) + 1);
    expect(seconds).toBeLessThan(5);
  }
  return codes;
}

describe("A damaged model is refused by name or linted, never a crash", () => {
  it("with some bytes changed", async () => {
    const codes = await fuzz(smallModel(), mutate, 3000);
    expect(codes.size).toBeGreaterThan(10);
    expect(codes.get("linted")).toBeGreaterThan(100);
  });

  it("with nonsense for attributes, names and sizes", async () => {
    const codes = await fuzz(smallModel(), rewire, 1000);
    expect(codes.get("invalid-node")).toBeGreaterThan(100);
    expect(codes.get("linted")).toBeGreaterThan(100);
  });

  eachModel(names)("%s with some bytes changed", async (name) => {
    const codes = await fuzz(readFileSync(zooModel(name)), mutate, 60);
    expect(codes.size).toBeGreaterThan(2);
  });

  eachModel(names)("%s with nonsense in it", async (name) => {
    const codes = await fuzz(readFileSync(zooModel(name)), rewire, 60);
    expect(codes.get("linted")).toBeGreaterThan(5);
  });
});
