/** Sizes that are told: what is wider than the multiple that it is off is padded to a multiple, and to no part of one. */
import { describe, expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { eachModel, zooModel } from "../zoo.ts";

/** Beyond this a wider layer is another network. */
const mostGrowth = 1.5;

describe.each([
  ["t4", "inductor"],
  ["t4", "cudnn"],
  ["l4", "ort-cuda"],
  ["h200", "inductor"],
] as const)("on %s by %s", (gpu, stack) => {
  eachModel(["tcn", "c3d", "siamese", "seg_unet", "misaligned_mlp", "deeplabv3"])(
    "%s: no size is left off the multiple that its entry names",
    async (name) => {
      const { groups, unlisted } = await lint(zooModel(name), { gpu, stack, verbose: true });
      for (const { message } of [...groups, ...(unlisted?.groups ?? [])]) {
        const multiple = Number(/off the multiple of (\d+)/.exec(message)?.[1] ?? Number.NaN);
        if (Number.isNaN(multiple)) continue;
        for (const [, from = "", to = ""] of message.matchAll(/from (\d+) to (\d+)/g)) {
          const next = Math.ceil(Number(from) / multiple) * multiple;
          if (Number(from) > multiple && next <= mostGrowth * Number(from))
            expect(`${message}: ${Number(to) % multiple}`).toBe(`${message}: 0`);
        }
      }
    },
  );
});
