/** Why padding is left: one reason at several nodes is one reason. */
import { expect } from "vitest";
import { lint } from "../../src/api/lint.ts";
import { eachModel, zooModel } from "../zoo.ts";

eachModel(["shufflenet_v2"])(
  "%s: what several Shape nodes read is one reason, and other kinds are counted once",
  async (name) => {
    const { groups, unlisted } = await lint(zooModel(name), { stack: "ort-cuda", verbose: true });
    const left = [...groups, ...(unlisted?.groups ?? [])].flatMap((group) => group.left ?? []);
    expect(left.join("\n")).toMatch(/: Shape "[^"]+" reads its size; the same at \d+ other nodes?$/m);
    for (const reason of left) {
      const others = Number(/elsewhere (\d+) other/.exec(reason)?.[1] ?? 0);
      // As many as there are ways to be left: sizes that are read, groups, what does not pay, no kind of node.
      expect(others, reason).toBeLessThan(4);
    }
  },
);
