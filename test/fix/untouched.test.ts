/** Whatever a fix does not change is there afterwards, to the byte: fields that no schema has included. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import protobuf from "protobufjs/minimal.js";
import { afterEach, beforeEach, expect, test } from "vitest";
import { fixModel } from "../../src/fix/fix.ts";
import { field, floats, info, join, node, onnx, type types, varint } from "../onnx/build.ts";
import { convolutions, requestFor } from "./models.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tc-lint-untouched-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Fields of later versions of ONNX, or of someone else's. */
const unknownField = fc
  .record({
    number: fc.integer({ min: 1000, max: 100_000 }),
    value: fc.oneof(fc.nat(), fc.uint8Array({ maxLength: 20 })),
  })
  .map(({ number, value }) => (typeof value === "number" ? varint(number, value) : field(number, value)));
const unknownFields = fc.array(unknownField, { maxLength: 3 }).map((parts) => join(...parts));
const text = fc.string({ maxLength: 12 });
const keys = fc.dictionary(
  text.filter((key) => key !== "tc-lint.fix"),
  text,
  { maxKeys: 3 },
);

const bystander = fc.record({
  docString: text,
  metadata: keys,
  unknown: unknownFields,
  tensorDoc: text,
  tensorUnknown: unknownFields,
  values: fc.array(fc.float({ noNaN: true, noDefaultInfinity: true }), { minLength: 1, maxLength: 9 }),
});

const world = fc.record({
  bystanders: fc.array(bystander, { minLength: 1, maxLength: 4 }),
  modelUnknown: unknownFields,
  graphUnknown: unknownFields,
  modelMetadata: keys,
  modelDoc: text,
  graphDoc: text,
  /** Whether the bystanders stand before what is fixed. */
  isFirst: fc.boolean(),
});

type World = typeof world extends fc.Arbitrary<infer T> ? T : never;

const fields = {
  model: { graph: 7, metadata: 14 },
  graph: { node: 1, initializer: 5, input: 11, output: 12 },
};

/** `u[i]` → Add a constant → `v[i]`: nothing to fix, beside two convolutions that are. */
function build(drawn: World) {
  const nodes = drawn.bystanders.map(({ docString, metadata, unknown }, i) =>
    join(
      onnx.NodeProto.encode(
        node("Add", [`u${i}`, `k${i}`], [`v${i}`], { name: `by${i}`, docString }),
      ).finish(),
      ...entries(9, metadata),
      unknown,
    ),
  );
  const tensors = drawn.bystanders.map(({ tensorDoc, tensorUnknown, values }, i) => {
    const tensor = { ...floats(`k${i}`, [values.length], values), docString: tensorDoc };
    return join(onnx.TensorProto.encode(tensor).finish(), tensorUnknown);
  });
  const edges = drawn.bystanders.flatMap(({ values }, i) => [
    field(fields.graph.input, onnx.ValueInfoProto.encode(info(`u${i}`, [values.length])).finish()),
    field(fields.graph.output, onnx.ValueInfoProto.encode(info(`v${i}`, [values.length])).finish()),
  ]);
  const fixable = onnx.GraphProto.encode({
    name: "g",
    docString: drawn.graphDoc,
    ...convolutions(),
  }).finish();
  const around = nodes.map((bytes) => field(fields.graph.node, bytes));
  const graph = join(
    ...(drawn.isFirst ? around : []),
    fixable,
    ...(drawn.isFirst ? [] : around),
    ...tensors.map((bytes) => field(fields.graph.initializer, bytes)),
    ...edges,
    drawn.graphUnknown,
  );
  const head: types.IModelProto = {
    irVersion: 8,
    opsetImport: [{ domain: "", version: 17 }],
    docString: drawn.modelDoc,
  };
  const model = join(
    onnx.ModelProto.encode(head).finish(),
    field(fields.model.graph, graph),
    ...entries(fields.model.metadata, drawn.modelMetadata),
    drawn.modelUnknown,
  );
  return { model, nodes, tensors, edges };
}

function entries(number: number, texts: Readonly<Record<string, string>>): Uint8Array[] {
  return Object.entries(texts).map(([key, value]) =>
    field(number, onnx.StringStringEntryProto.encode({ key, value }).finish()),
  );
}

/** Fields of a message, each with its tag, as they lie in it. */
function fieldsOf(message: Uint8Array): { readonly number: number; readonly bytes: string }[] {
  const reader = protobuf.Reader.create(message);
  const found = [];
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const tag = reader.uint32();
    reader.skipType(tag & 7);
    found.push({
      number: tag >>> 3,
      bytes: Buffer.from(message.subarray(start, reader.pos)).toString("hex"),
    });
  }
  return found;
}

function graphOf(model: Uint8Array): Uint8Array {
  const reader = protobuf.Reader.create(model);
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag >>> 3 === fields.model.graph) return reader.bytes();
    reader.skipType(tag & 7);
  }
  throw new Error("the model has no graph");
}

test("unknown fields, texts, metadata, nodes and tensors that no fix is about survive bit for bit", async () => {
  await fc.assert(
    fc.asyncProperty(world, async (drawn) => {
      const { model, nodes, tensors, edges } = build(drawn);
      const file = path.join(folder, "model.onnx");
      writeFileSync(file, model);
      const outcome = await fixModel(requestFor(file));
      expect(outcome).toMatchObject({ changed: true, written: true });
      const fixed = readFileSync(file);
      const inGraph = fieldsOf(graphOf(fixed)).map(({ bytes }) => bytes);
      const expected = [
        ...nodes.map((bytes) => field(fields.graph.node, bytes)),
        ...tensors.map((bytes) => field(fields.graph.initializer, bytes)),
        ...edges,
      ].map((bytes) => Buffer.from(bytes).toString("hex"));
      expect(inGraph).toEqual(expect.arrayContaining(expected));
      // In the order they had, and nothing else was lost: only nodes and tensors may be new or gone.
      const isKept = ({ number }: { number: number }) =>
        number !== fields.graph.node && number !== fields.graph.initializer;
      expect(fieldsOf(graphOf(fixed)).filter(isKept)).toEqual(fieldsOf(graphOf(model)).filter(isKept));
      expect(inGraph.filter((bytes) => expected.includes(bytes))).toEqual(
        fieldsOf(graphOf(model))
          .map(({ bytes }) => bytes)
          .filter((bytes) => expected.includes(bytes)),
      );
      const outside = (bytes: Uint8Array) =>
        fieldsOf(bytes).filter(({ number }) => number !== fields.model.graph);
      const signature = field(
        fields.model.metadata,
        onnx.StringStringEntryProto.encode({ key: "tc-lint.fix", value: "fold, align; unverified" }).finish(),
      );
      const signed = { number: fields.model.metadata, bytes: Buffer.from(signature).toString("hex") };
      expect(outside(fixed)).toEqual([...outside(model), signed]);
    }),
    { numRuns: 40 },
  );
});
