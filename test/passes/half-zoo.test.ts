import { readdirSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { openModel } from "../../src/onnx/open.ts";
import { sharedPath } from "../shared.ts";
import { countOf, halveModel, runHalf } from "./halving.ts";

const zoo = sharedPath("zoo");
const skeletons =
  zoo === undefined
    ? []
    : readdirSync(zoo)
        .filter((name) => name.endsWith(".onnx"))
        .sort();

describe.skipIf(zoo === undefined)("the zoo without its weights", () => {
  it.each(skeletons)("%s", (name) => {
    using model = openModel(path.join(zoo ?? "", name));
    const { before, after, notes, changed } = halveModel(model);
    const casts = countOf(after.graph, "Cast") - countOf(before.graph, "Cast");
    const kept = notes.filter(({ kind }) => kind === "kept").length;
    console.log(`${name}: ${casts} Casts more, ${kept} nodes kept; ${notes[0]?.message}`);
    expect(changed).toBe(true);
    // A second run finds nothing left to do.
    expect(runHalf(after).changed).toBe(false);
  });
});
