/** What is not done because it is not sure to gain says whether it may cost, is predicted to, or is sure to. */
import { describe, expect, it } from "vitest";
import { fix } from "../../src/api/fix.ts";
import { noFaster } from "../../src/fix/decide.ts";
import { eachModel, zooModel } from "../zoo.ts";

it.each([
  [
    { microseconds: 7, low: -13, high: 31, after: 223 },
    "may be no faster: predicted 230 µs → 223 µs (31 less to 13 µs more)",
  ],
  [
    { microseconds: -11, low: -20, high: 3, after: 223 },
    "is predicted to be slower: 212 µs → 223 µs (3 less to 20 µs more)",
  ],
  [
    { microseconds: -11, low: -20, high: -3, after: 223 },
    "is slower: predicted 212 µs → 223 µs (3 to 20 µs more)",
  ],
])("%j", (written, text) => {
  expect(noFaster(written)).toBe(text);
});

describe.each(["cudnn", "inductor"] as const)("figures of a whole repair, on %s", (stack) => {
  eachModel(["c3d", "misaligned_cnn", "seg_unet", "yolo_w0375"])(
    "%s: say of how many layers",
    async (name) => {
      const { notes } = await fix(zooModel(name), { stack, dryRun: true });
      const whole = notes.filter(({ message }) => message.includes("the repaired model"));
      const nodes = new Set(whole.flatMap(({ node }) => node ?? []));
      for (const { message } of whole) {
        const [, count = "1"] = /the repaired model \((\d+) layers change together\)/.exec(message) ?? [];
        expect(Number(count), message).toBeGreaterThanOrEqual(nodes.size);
      }
    },
  );
});
