/** Which real exports can have another batch than the one that they fix. */
import { describe, expect, it } from "vitest";
import { inferFacts } from "../../src/facts/infer.ts";
import { patched } from "../../src/fix/edits.ts";
import { openModel } from "../../src/onnx/open.ts";
import { rebatch } from "../../src/passes/batch/batch.ts";
import { FreshNames } from "../../src/passes/names.ts";
import type { PassContext } from "../../src/passes/pass.ts";
import { zooModel, zooNames } from "../zoo.ts";
import { portsOf } from "./batching.ts";

/** Numbers that nothing says anew: positions among flattened samples, token types of two rows. */
const held: ReadonlySet<string> = new Set(["bert", "bert_dynamo", "convnext_tiny_dynamo"]);
/** All samples side by side: outputs that have them along another axis are none of these. */
const ported = /^\S+ \[batch(,|\])/;

describe("another batch of real exports", () => {
  it.each(zooNames)("%s", (name) => {
    using model = openModel(zooModel(name));
    const context: Pick<PassContext, "model" | "facts" | "names" | "preview"> = {
      model,
      facts: inferFacts(model),
      names: new FreshNames(model),
      preview: (patch) => inferFacts(patched(model, patch, "preview.data")),
    };
    const run = () => rebatch.run({ ...context, options: { batch: "dynamic" } } as unknown as PassContext);
    const isOpen = portsOf(model).some((port) => ported.test(port));
    if (isOpen) {
      const open = run();
      expect(open.notes).toMatchObject([{ kind: "kept", message: expect.stringContaining("open already") }]);
      expect(patched(model, open.patch, "batch.data").graph.nodes.length).toBe(model.graph.nodes.length);
    } else if (held.has(name)) expect(run).toThrow(/its batch of \d cannot be changed: node "/);
    else {
      const after = patched(model, run().patch, "batch.data");
      expect(portsOf(after).filter((port) => !ported.test(port))).toEqual([]);
    }
  });
});
