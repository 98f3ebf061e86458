/** @file Models with branches for tests of what is said of them: drawn bodies, some of whose parts are flawed, one inside of another. */
import fc from "fast-check";
import { type GraphBuilder, model } from "../../fixtures/builder.ts";
import { writtenGelu } from "../../fixtures/layers.ts";

/** A pass, GELU as its nodes, two products of an odd width, two Transposes before a pass, that `--fix` removes, or one of two bodies. */
export type Part = "relu" | "gelu" | "odd" | "turned" | Choice;
export type Body = readonly Part[];
export interface Choice {
  readonly yes: Body;
  readonly no: Body;
}

const width = 512;

function place(graph: GraphBuilder, x: string, body: Body): string {
  return body.reduce((value, part) => placePart(graph, value, part), x);
}

function placePart(graph: GraphBuilder, value: string, part: Part): string {
  if (part === "relu") return graph.node("Relu", [value]);
  if (part === "turned") {
    const perm = { perm: [1, 0] };
    const there = graph.node("Transpose", [value], perm);
    return graph.node("Relu", [graph.node("Transpose", [there], perm)]);
  }
  if (part === "gelu") return writtenGelu(graph, value, "erf");
  if (part === "odd") {
    const wide = graph.node("MatMul", [value, graph.weight([width, 4001])]);
    return graph.node("MatMul", [graph.node("Relu", [wide]), graph.weight([4001, width])]);
  }
  const branch = (name: string, body: Body) => {
    const inner = graph.inner(`${value}_${name}`);
    inner.output(place(inner, value, ["relu", ...body]));
    return { graph: inner };
  };
  const branches = { then_branch: branch("yes", part.yes), else_branch: branch("no", part.no) };
  return graph.node("If", ["chosen"], branches);
}

/** A file whose main graph is a pass and the body. */
export function branching(body: Body): Uint8Array {
  return model({ name: "branches", opset: 17 }, (graph) => {
    graph.input("chosen", [], "bool");
    graph.output(place(graph, graph.input("x", [256, width]), ["relu", ...body]));
  });
}

export const bodies = fc.letrec<{ body: Body; part: Part; choice: Choice }>((tie) => ({
  body: fc.array(tie("part"), { maxLength: 5 }),
  part: fc.oneof({ maxDepth: 2 }, fc.constantFrom<Part>("relu", "gelu", "odd", "turned"), tie("choice")),
  choice: fc.record({ yes: tie("body"), no: tie("body") }),
}));
