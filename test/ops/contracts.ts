/**
 * @file What an operator says of padded axes, held against ONNX Runtime: a model of one node, each axis padded by itself,
 * and inputs whose padded lanes hold the worst that their claim allows.
 */
import onnxProto, { type onnx as types } from "onnx-proto";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { type Attributes, model } from "../../fixtures/builder.ts";
import { inferFacts } from "../../src/facts/infer.ts";
import { isStored } from "../../src/facts/stored.ts";
import { patched } from "../../src/fix/edits.ts";
import { type Atom, type Axis, atomsOf } from "../../src/ir/axis.ts";
import { indexMap } from "../../src/ir/axis-runs.ts";
import { type DType, dtypes } from "../../src/ir/dtype.ts";
import type { Value } from "../../src/ir/model.ts";
import { modelFromBytes, type OpenModel } from "../../src/onnx/open.ts";
import { tensorBytes } from "../../src/onnx/tensor-bytes.ts";
import { constantLane, finiteLane, type Lane, unknownLane } from "../../src/ops/axes.ts";
import { applyPadding } from "../../src/passes/align/apply.ts";
import { freeAtoms } from "../../src/passes/align/free-atoms.ts";
import { collectFills, type Fills, LaneAnalysis } from "../../src/passes/align/lanes.ts";
import { type Relations, relate } from "../../src/passes/align/relate.ts";
import { FreshNames } from "../../src/passes/names.ts";
import { encodeNumbers } from "../../src/passes/tensors.ts";
import { bytesOfModel, noise, volume } from "../passes/folding.ts";
import { brokenClaim, differenceIn, isFloatType, padTensor, tensorOf } from "./contract-tensors.ts";

const { onnx } = onnxProto;

export interface Operand {
  readonly dims: readonly number[];
  readonly dtype?: DType;
  /** In the file, rather than fed. */
  readonly isStored?: boolean;
  /** Kept within [-100, 100] by a Clip, so that nothing infinite gets to the node. */
  readonly isBounded?: boolean;
  /** Row-major; noise where they are left out. */
  readonly values?: readonly number[];
}

export interface ContractCase {
  readonly operands: readonly (Operand | undefined)[];
  readonly attributes?: Attributes;
  readonly outputs?: number;
  readonly opset: number;
  /** By how much axes grow, where a kernel takes multiples alone; 2 where it is left out. */
  readonly step?: number;
}

/** How padded lanes of everything that is fed are filled: what is claimed, and numbers that fit the claim. */
interface Filling {
  readonly claim: Lane;
  readonly floats: readonly number[];
  readonly wholes: readonly number[];
  /** Whether results stay within the type, so that a claim of finite lanes can be asked for. */
  readonly isModerate: boolean;
  /** Whether it is tried beside true lanes with infinities as well. */
  readonly withInfinite?: true;
}

/**
 * That products and sums of padded lanes do not overflow is a premise: only lanes of true size are then asked to be
 * finite. What extreme lanes do to true ones is asked of all.
 */
const fillings: readonly Filling[] = [
  { claim: constantLane(0), floats: [0, -0], wholes: [0], isModerate: true, withInfinite: true },
  { claim: constantLane(1), floats: [1], wholes: [1], isModerate: true },
  { claim: constantLane(-2.5), floats: [-2.5], wholes: [], isModerate: true },
  {
    claim: finiteLane,
    floats: [3, -7.25, 1e-40, -0, 0, 1e4, -1e4],
    wholes: [0, 1, 5],
    isModerate: true,
    withInfinite: true,
  },
  { claim: finiteLane, floats: [3e38, -3e38, 1e-45, -0], wholes: [1, 0], isModerate: false },
  { claim: unknownLane, floats: [Number.NaN, Infinity, -Infinity], wholes: [0, 1, 3], isModerate: true },
];

export interface Verdict {
  /** Axes that were padded, each under each filling that its sums allow. */
  readonly padded: number;
  /** What did not come out as promised. */
  readonly failures: readonly string[];
}

/** Undefined where ONNX Runtime cannot run the node at all. */
export async function verdictOn(
  domain: string,
  type: string,
  given: ContractCase,
): Promise<Verdict | undefined> {
  const bytes = withOutputTypes(contractModel(domain, type, given));
  const original = await sessionOf(bytes);
  if (original === undefined) return undefined;
  try {
    const trial = new Trial(bytes, given, original);
    return (await trial.runs()) ? await trial.verdict() : undefined;
  } finally {
    await original.release();
  }
}

export function contractModel(
  domain: string,
  type: string,
  { operands, attributes, outputs = 1, opset }: ContractCase,
) {
  const domains = domain === "" ? {} : { [domain]: 1 };
  return model({ name: "contract", opset, irVersion: 10, domains }, (graph) => {
    const names = operands.map((operand, at) => {
      if (operand === undefined) return "";
      const { dims, dtype = "float32" } = operand;
      const name = `x${at}`;
      if (operand.isStored) return graph.weight(dims, { dtype, name, values: valuesOf(operand, at) });
      graph.input(name, dims, dtype);
      return operand.isBounded ? graph.node("Clip", [name, graph.scalar(-100), graph.scalar(100)]) : name;
    });
    const results = Array.from({ length: outputs }, (_, at) => `y${at}`);
    graph.nodes(type, names, attributes, { domain, outputs: results });
    for (const result of results) graph.output(result);
  });
}

/** Outputs are declared with the types that tc-lint infers. */
function withOutputTypes(bytes: Uint8Array): Uint8Array {
  using before = modelFromBytes(bytes);
  const { root } = inferFacts(before, { useDeclared: false });
  const decoded = onnx.ModelProto.decode(bytes);
  for (const [at, info] of (decoded.graph?.output ?? []).entries()) {
    const value = before.graph.outputs[at];
    const fact = value && root.fact(value);
    const dtype = fact?.kind === "tensor" ? fact.dtype : undefined;
    if (info.type?.tensorType != null && dtype !== undefined)
      info.type.tensorType.elemType = dtypes[dtype].code;
  }
  return onnx.ModelProto.encode(decoded).finish();
}

function valuesOf({ dims, dtype = "float32", values }: Operand, seed: number): readonly number[] {
  if (values !== undefined) return values;
  const numbers = noise(volume(dims), seed + 3);
  return dtypes[dtype].kind === "float" ? numbers : numbers.map((number) => Math.floor((number + 1) * 2) % 2);
}

const options: InferenceSession.SessionOptions = {
  logSeverityLevel: 4,
  graphOptimizationLevel: "disabled",
  intraOpNumThreads: 1,
  interOpNumThreads: 1,
};

async function sessionOf(bytes: Uint8Array): Promise<InferenceSession | undefined> {
  try {
    return await InferenceSession.create(bytes, options);
  } catch {
    return undefined;
  }
}

class Trial {
  readonly #case: ContractCase;
  readonly #session: InferenceSession;
  readonly #before: OpenModel;
  readonly #relations: Relations;
  readonly #fills: Fills;
  readonly #failures: string[] = [];
  readonly #results = new Map<boolean, Promise<InferenceSession.OnnxValueMapType>>();
  #padded = 0;

  constructor(bytes: Uint8Array, given: ContractCase, session: InferenceSession) {
    this.#case = given;
    this.#session = session;
    this.#before = modelFromBytes(bytes);
    this.#relations = relate(inferFacts(this.#before, { useDeclared: false }));
    this.#fills = collectFills(this.#relations);
  }

  /** Whether the node takes its operands in this opset: some shapes are refused when it runs. */
  runs(): Promise<boolean> {
    return this.#original(false).then(
      () => true,
      () => false,
    );
  }

  async verdict(): Promise<Verdict> {
    for (const atom of freeAtoms(this.#relations)) await this.#tryAtom(atom);
    return { padded: this.#padded, failures: this.#failures };
  }

  async #tryAtom(atom: Atom): Promise<void> {
    const allowed = fillings.filter((filling) => this.#analysis(filling).reasonAgainst(atom) === undefined);
    if (allowed.length === 0) return;
    const sizes = new Map([[atom, atom.size + (this.#case.step ?? 2)]]);
    const padded = this.#paddedModel(sizes);
    const session = await sessionOf(padded);
    const where = `axis of ${atom.size}`;
    if (session === undefined) {
      this.#failures.push(`${where}: the padded node does not load`);
      return;
    }
    try {
      for (const filling of allowed) {
        await this.#compare(session, atom, sizes, filling, false);
        if (filling.withInfinite) await this.#compare(session, atom, sizes, filling, true);
      }
    } finally {
      await session.release();
    }
  }

  #analysis({ claim }: Filling): LaneAnalysis {
    const { scope } = this.#relations;
    return new LaneAnalysis(this.#relations, this.#fills, (value, atom) =>
      isStored(value, scope) ? constantLane(this.#fills.get(value)?.get(atom) ?? 0) : claim,
    );
  }

  /** The padded node alone: what converts at the edges is taken off, and padded operands are fed as they are. */
  #paddedModel(sizes: ReadonlyMap<Atom, number>): Uint8Array {
    const before = this.#before;
    const open = (tensor: Parameters<typeof tensorBytes>[2]) =>
      tensorBytes(before.source, before.files, tensor, encodeNumbers);
    const names = new FreshNames(before);
    const relations = this.#relations;
    const patch = applyPadding({ model: before, relations, sizes, fills: this.#fills, names, open });
    const after = onnx.ModelProto.decode(bytesOfModel(patched(before, patch, "padded.data")));
    const { graph } = after;
    if (graph == null) throw new Error("the padded model has no graph");
    const isEdge = ({ name }: types.INodeProto) => name?.startsWith("tc_lint/") ?? false;
    const inner = new Map<string, string>();
    for (const value of before.graph.values.values()) inner.set(value.name, `${value.name}_padded`);
    const used = new Set(
      graph.node
        ?.filter((node) => !isEdge(node))
        .flatMap(({ input, output }) => [...(input ?? []), ...(output ?? [])]),
    );
    graph.node = graph.node?.filter((node) => !isEdge(node)) ?? [];
    for (const info of [...(graph.input ?? []), ...(graph.output ?? [])]) {
      const name = info.name ?? "";
      const other = inner.get(name) ?? "";
      if (!used.has(other)) continue;
      const value = before.graph.values.get(name);
      info.name = other;
      if (info.type?.tensorType == null || value === undefined) continue;
      const dims = this.#mapsOf(value, sizes).map((map) => ({ dimValue: map.length }));
      info.type.tensorType.shape = { dim: dims };
    }
    return onnx.ModelProto.encode(after).finish();
  }

  #axesOf(value: Value): readonly Axis[] {
    return this.#relations.axesOf(value) ?? [];
  }

  #mapsOf(value: Value, sizes: ReadonlyMap<Atom, number>): Int32Array[] {
    return this.#axesOf(value).map((axis) => indexMap(axis, sizes));
  }

  async #compare(
    session: InferenceSession,
    atom: Atom,
    sizes: ReadonlyMap<Atom, number>,
    filling: Filling,
    isInfinite: boolean,
  ): Promise<void> {
    const feeds = this.#feeds(isInfinite);
    if (isInfinite && feeds === undefined) return;
    const paddedFeeds = new Map<string, Tensor>();
    for (const { value, operand, numbers } of feeds ?? []) {
      const maps = this.#mapsOf(value, sizes);
      const isPadded = this.#axesOf(value).some((axis) => atomsOf(axis).includes(atom));
      const filler = isFloatType(operand) ? filling.floats : filling.wholes;
      if (isPadded && filler.length === 0) return;
      paddedFeeds.set(
        isPadded ? `${value.name}_padded` : value.name,
        padTensor(operand, numbers, maps, filler),
      );
    }
    const expected = await this.#original(isInfinite);
    let actual: InferenceSession.OnnxValueMapType;
    try {
      actual = await session.run(Object.fromEntries(paddedFeeds));
    } catch (error) {
      this.#failures.push(`axis of ${atom.size}: ${error instanceof Error ? error.message : error}`);
      return;
    }
    this.#padded += 1;
    this.#check(atom, sizes, filling, isInfinite, expected, actual);
  }

  /** What the node makes of its true operands. */
  #original(isInfinite: boolean): Promise<InferenceSession.OnnxValueMapType> {
    const feeds = this.#feeds(isInfinite) ?? [];
    const tensors = feeds.map(({ value, operand, numbers }) => [
      value.name,
      tensorOf(operand, operand.dims, numbers),
    ]);
    const results = this.#results.get(isInfinite) ?? this.#session.run(Object.fromEntries(tensors));
    this.#results.set(isInfinite, results);
    return results;
  }

  /** Undefined where nothing that is fed can be infinite. */
  #feeds(isInfinite: boolean) {
    const { values } = this.#relations.scope.graph;
    const feeds = this.#case.operands.flatMap((operand, at) => {
      const value = values.get(`x${at}`);
      if (operand === undefined || operand.isStored || value === undefined) return [];
      const numbers = [...valuesOf(operand, at)];
      if (isInfinite && isFloatType(operand)) {
        numbers[0] = Infinity;
        numbers[numbers.length - 1] = -Infinity;
      }
      return [{ value, operand, numbers }];
    });
    return isInfinite && !feeds.some(({ operand }) => isFloatType(operand)) ? undefined : feeds;
  }

  #check(
    atom: Atom,
    sizes: ReadonlyMap<Atom, number>,
    filling: Filling,
    isInfinite: boolean,
    expected: InferenceSession.OnnxValueMapType,
    actual: InferenceSession.OnnxValueMapType,
  ): void {
    const lanes = this.#analysis(filling).lanesOf(atom);
    const told = `axis of ${atom.size}, lanes ${filling.claim.kind} [${filling.floats}]${isInfinite ? ", infinite inputs" : ""}`;
    for (const value of this.#relations.scope.graph.outputs) {
      const want = expected[value.name];
      const got = actual[`${value.name}_padded`] ?? actual[value.name];
      if (!(want instanceof Tensor) || !(got instanceof Tensor)) continue;
      const maps = this.#mapsOf(value, sizes);
      if (maps.length !== want.dims.length || maps.some((map, axis) => map.length !== got.dims[axis])) {
        this.#failures.push(
          `${told}: ${value.name} is [${got.dims}], foreseen was [${maps.map((map) => map.length)}]`,
        );
        continue;
      }
      const problem =
        differenceIn(want, got, maps) ??
        (filling.isModerate ? brokenClaim(lanes.get(value), isInfinite, got, maps) : undefined);
      if (problem !== undefined) this.#failures.push(`${told}: ${value.name} ${problem}`);
    }
  }
}
