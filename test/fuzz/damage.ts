/** @file Ways to harm a model: its bytes, its wiring, its types, and its size. */

import { onnx, type types } from "../onnx/build.ts";
import { mutate } from "../onnx/fuzz.ts";
import { rewire } from "../onnx/rewire.ts";

type Random = () => number;

/** The same for equal numbers of `random`. */
export function damage(bytes: Uint8Array, random: Random): Uint8Array {
  const kind = random();
  if (kind < 0.05) return bytes;
  if (kind < 0.3) return mutate(bytes, random);
  if (kind < 0.6) return rewire(bytes, random);
  const harmed = restructure(bytes, random);
  return kind < 0.8 ? harmed : rewire(harmed, random);
}

interface Harm {
  readonly model: types.IModelProto;
  readonly graph: types.IGraphProto;
  readonly below: (limit: number) => number;
  readonly pick: <T>(list: readonly T[] | null | undefined) => T | undefined;
}

const oddSizes = [-1, 0, 1, 2, 3, 1000, 2 ** 16, 2 ** 31, 2 ** 40, 2 ** 53];
const oddNames = [
  "",
  "__proto__",
  "constructor",
  "toString",
  "\u001b[31m",
  "a\nb",
  "::error::",
  "=1+1",
  "\u202e",
  "é".repeat(40),
];

/** One to three changes to types, ranks, names, nesting and repetition, at the level of messages. */
function restructure(bytes: Uint8Array, random: Random): Uint8Array {
  const model = onnx.ModelProto.decode(bytes);
  const { graph } = model;
  if (!graph) return bytes;
  const below = (limit: number) => Math.floor(random() * limit);
  const pick = <T>(list: readonly T[] | null | undefined): T | undefined => list?.[below(list.length)];
  for (let count = 1 + below(3); count > 0; count--) {
    pick(harms)?.({ model, graph, below, pick });
  }
  return onnx.ModelProto.encode(model).finish();
}

const harms: readonly ((harm: Harm) => void)[] = [
  retype,
  resize,
  rename,
  repeat,
  nest,
  callItself,
  duplicate,
  forget,
  declare,
];

/** Another element type of an input, an initializer or a declaration. */
function retype({ graph, below, pick }: Harm): void {
  const tensor = below(2) === 0 ? pick(graph.initializer) : undefined;
  const info = pick([...(graph.input ?? []), ...(graph.output ?? []), ...(graph.valueInfo ?? [])]);
  if (tensor !== undefined) tensor.dataType = below(27);
  else if (info?.type?.tensorType) info.type.tensorType.elemType = below(27);
}

/** Another rank or other sizes, up to more elements than anyone has. */
function resize({ graph, below, pick }: Harm): void {
  const shape = pick(graph.input)?.type?.tensorType?.shape;
  const tensor = pick(graph.initializer);
  if (shape && below(2) === 0) {
    shape.dim = Array.from({ length: below(7) }, () =>
      below(4) === 0 ? { dimParam: pick(oddNames) ?? "" } : { dimValue: pick(oddSizes) ?? 0 },
    );
  } else if (tensor !== undefined) tensor.dims = Array.from({ length: below(6) }, () => pick(oddSizes) ?? 0);
}

function rename({ model, graph, below, pick }: Harm): void {
  const node = pick(graph.node);
  const name = pick(oddNames) ?? "";
  const changes: (() => void)[] = [
    () => Object.assign(node ?? {}, { opType: name || "Identity" }),
    () => Object.assign(node ?? {}, { domain: name }),
    () => Object.assign(node ?? {}, { name }),
    () => Object.assign(graph, { name }),
    () => Object.assign(model, { producerName: name }),
    () => {
      model.metadataProps = [...(model.metadataProps ?? []), { key: name, value: name }];
    },
    () => {
      const output = node?.output?.[0];
      if (node === undefined || output == null) return;
      for (const reader of graph.node ?? [])
        reader.input = (reader.input ?? []).map((input) => (input === output ? name : input));
      node.output = [name, ...(node.output ?? []).slice(1)];
    },
  ];
  changes[below(changes.length)]?.();
}

/** Up to 300 copies of a node, each reading the one before. */
function repeat({ graph, below, pick }: Harm): void {
  const node = pick(graph.node);
  const input = node?.input?.[0];
  if (node === undefined || input == null) return;
  const copies: types.INodeProto[] = [];
  for (let index = 0, previous = node.output?.[0] ?? ""; index < 2 ** below(9); index++) {
    const output = `copy_${index}_${previous.length}_${below(1e9)}`;
    copies.push({
      ...node,
      name: "",
      input: [previous, ...(node.input ?? []).slice(1)],
      output: [output, ...(node.output ?? []).slice(1).map((_, at) => `${output}_${at}`)],
    });
    previous = output;
  }
  graph.node = [...(graph.node ?? []), ...copies];
}

/** The nodes move into a branch of an If, or the body of a Loop. */
function nest({ graph, below }: Harm): void {
  const nodes = graph.node ?? [];
  const outputs = graph.output ?? [];
  const depth = 1 + below(3);
  for (let level = 0; level < depth; level++) {
    const inner: types.IGraphProto = { name: `body_${level}`, node: graph.node ?? nodes, output: outputs };
    const branch = (name: string) => ({ name, type: onnx.AttributeProto.AttributeType.GRAPH, g: inner });
    const isLoop = below(3) === 0;
    graph.node = [
      {
        opType: "Constant",
        output: [`c_${level}`],
        attribute: [{ name: "value_int", type: 2, i: below(5) }],
      },
      {
        opType: "Cast",
        input: [`c_${level}`],
        output: [`b_${level}`],
        attribute: [{ name: "to", type: 2, i: 9 }],
      },
      isLoop
        ? {
            opType: "Loop",
            input: [`c_${level}`, `b_${level}`],
            output: outputs.map(({ name }) => name ?? ""),
            attribute: [branch("body")],
          }
        : {
            opType: "If",
            input: [`b_${level}`],
            output: outputs.map(({ name }) => name ?? ""),
            attribute: [branch("then_branch"), branch("else_branch")],
          },
    ];
  }
}

/** Local functions that call the one before more than once. */
function callItself({ model, graph, below, pick }: Harm): void {
  const node = pick(graph.node);
  if (node === undefined) return;
  const depth = 1 + below(40);
  const calls = 1 + below(3);
  const isRound = below(5) === 0;
  model.functions = Array.from({ length: depth }, (_, level) => ({
    name: `F${level}`,
    domain: "fuzz",
    input: ["x"],
    output: ["y"],
    opsetImport: [
      { domain: "", version: 17 },
      { domain: "fuzz", version: 1 },
    ],
    node: Array.from({ length: calls }, (_, at) => ({
      opType: level > 0 ? `F${level - 1}` : isRound ? `F${depth - 1}` : "Relu",
      domain: level > 0 || isRound ? "fuzz" : "",
      input: [at === 0 ? "x" : `t${at - 1}`],
      output: [at === calls - 1 ? "y" : `t${at}`],
    })),
  }));
  model.opsetImport = [...(model.opsetImport ?? []), { domain: "fuzz", version: 1 }];
  node.opType = `F${depth - 1}`;
  node.domain = "fuzz";
}

function duplicate({ graph, below, pick }: Harm): void {
  const lists = [graph.node, graph.initializer, graph.input, graph.output, graph.valueInfo] as unknown[][];
  const list = lists[below(lists.length)];
  const item = pick(list);
  if (item !== undefined) list?.push(item);
}

function forget({ graph, below, pick }: Harm): void {
  const lists = [graph.node, graph.initializer, graph.input, graph.output] as unknown[][];
  const list = lists[below(lists.length)];
  if (list !== undefined && list.length > 0) list.splice(below(list.length), 1);
  const node = pick(graph.node);
  if (below(3) === 0 && node?.output) node.output = node.output.slice(0, below(node.output.length + 1));
}

/** A declared type that need not be true. */
function declare({ graph, below, pick }: Harm): void {
  const name = pick(pick(graph.node)?.output);
  if (name === undefined) return;
  const dim = Array.from({ length: below(5) }, () => ({ dimValue: pick(oddSizes) ?? 0 }));
  const tensorType = { elemType: below(27), shape: { dim } };
  const kinds = [
    { tensorType },
    { sequenceType: { elemType: { tensorType } } },
    { optionalType: { elemType: { tensorType } } },
  ];
  graph.valueInfo = [...(graph.valueInfo ?? []), { name, type: kinds[below(4)] ?? { tensorType } }];
}
