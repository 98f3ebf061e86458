import { describe, expect, it } from "vitest";
import { openModel } from "../../src/onnx/open.ts";
import { zooModel, zooNames } from "../zoo.ts";
import { countOf, halveModel, runHalf } from "./halving.ts";

describe("the zoo without its weights", () => {
  it.each(zooNames)("%s", (name) => {
    using model = openModel(zooModel(name));
    const { before, after, notes, changed } = halveModel(model);
    const casts = countOf(after.graph, "Cast") - countOf(before.graph, "Cast");
    const kept = notes.filter(({ kind }) => kind === "kept").length;
    console.log(`${name}: ${casts} Casts more, ${kept} nodes kept; ${notes[0]?.message}`);
    expect(changed).toBe(true);
    // A second run finds nothing left to do.
    expect(runHalf(after).changed).toBe(false);
  });
});
