/** @file A chain as PTX: rows of elements are loaded, computed lane by lane, and stored. */
import { maxOf } from "../../src/ir/lists.ts";
import { scalarOf } from "../ir/scalar.ts";
import { bytesOfType } from "../ir/storage.ts";
import { type Assembler, type Operand, registerClassOf } from "./assembler.ts";
import type { ChainOperand, ChainShape } from "./chain-shape.ts";
import { constantOperand, emitConvert, emitNarrow } from "./convert.ts";
import { ChainFields, divisionBy } from "./fields.ts";
import type { ChainGraph, ChainNode } from "./graph.ts";
import { emitGather, emitLoad, emitStore, type LoadedRow, toStorage } from "./memory.ts";
import { type Dialect, emitBinary, emitCompare, emitSelect, emitTest, emitUnary } from "./operations.ts";

/** An operand with where its fields lie. */
interface Source extends ChainOperand {
  readonly base: Operand | undefined;
  /** By collapsed axis; undefined where the stride is 0. Of the innermost: from row to row. */
  readonly steps: readonly (Operand | undefined)[];
  /** From lane to lane, where the lanes lie apart. */
  readonly laneStep: Operand | undefined;
}

interface Divisor {
  readonly multiplier: Operand;
  readonly shift: Operand;
  readonly size: Operand;
}

export function emitChain(assembler: Assembler, graph: ChainGraph, shape: ChainShape): ChainFields {
  const fields = new ChainFields(assembler);
  const writer = new ChainWriter(assembler, graph, shape, fields);
  writer.emit();
  return fields;
}

class ChainWriter {
  readonly #assembler: Assembler;
  readonly #graph: ChainGraph;
  readonly #shape: ChainShape;
  readonly #fields: ChainFields;
  readonly #outputs: readonly Source[];
  readonly #leaves: readonly Source[];
  readonly #dialect: Dialect;
  /** Values that are the same for all elements of a thread. */
  readonly #shared = new Map<number, Operand>();

  constructor(assembler: Assembler, graph: ChainGraph, shape: ChainShape, fields: ChainFields) {
    this.#assembler = assembler;
    this.#graph = graph;
    this.#shape = shape;
    this.#fields = fields;
    this.#dialect = { assembler, isFast: shape.isFast };
    const operands = [...shape.outputs, ...shape.leaves];
    const bases = operands.map(({ view }) => (view === undefined ? undefined : fields.pointer(view)));
    const sources = operands.map((operand, index) => this.#source(operand, bases[index]));
    this.#outputs = sources.slice(0, shape.outputs.length);
    this.#leaves = sources.slice(shape.outputs.length);
  }

  #source(operand: ChainOperand, base: Operand | undefined): Source {
    const { width } = this.#shape;
    const inner = operand.strides.length - 1;
    const steps = operand.strides.map((stride, axis) => {
      if (stride === 0) return undefined;
      if (axis < inner) return this.#fields.word(stride);
      return stride === 1 ? String(width) : this.#fields.word(stride * width);
    });
    const laneStep = operand.kind === "gather" ? this.#fields.word(operand.strides.at(-1) ?? 0) : undefined;
    return { ...operand, base, steps, laneStep };
  }

  emit(): void {
    const { rows, rowCount, tail, width } = this.#shape;
    const first = this.#firstRow();
    const last = this.#fields.word(rowCount - 1);
    const divisors = this.#divisors();
    const loaded = Array.from({ length: rows }, (_, row) => {
      const index = row === 0 ? first.row : this.#mad(String(row), first.stride, first.row);
      const isInside = this.#assembler.op("p", "setp.le.u32", index, last);
      const bounded = this.#assembler.op("r", "min.u32", index, last);
      const coordinates = this.#coordinates(bounded, divisors);
      return { isInside, ...this.#load(coordinates) };
    });
    for (const row of loaded) this.#store(row, row.isInside);
    if (tail > 0) this.#emitTail(first.row, rowCount * width, tail);
  }

  /** The thread's first row, and from one of its rows to the next. */
  #firstRow(): { row: Operand; stride: Operand } {
    const special = (name: string) => this.#assembler.op("r", "mov.u32", name);
    const [block, threads, thread] = [special("%ctaid.x"), special("%ntid.x"), special("%tid.x")];
    const { rows } = this.#shape;
    const perBlock = rows === 1 ? threads : this.#assembler.op("r", "mul.lo.u32", threads, String(rows));
    return { row: this.#mad(block, perBlock, thread), stride: threads };
  }

  #mad(a: Operand, b: Operand, c: Operand): Operand {
    return this.#assembler.op("r", "mad.lo.s32", a, b, c);
  }

  /** For each axis but the outermost, the innermost counted in rows: how to divide by its size. */
  #divisors(): readonly Divisor[] {
    const { sizes, width } = this.#shape;
    return sizes.slice(1).map((size, axis) => {
      const inRows = axis === sizes.length - 2 ? size / width : size;
      const { multiplier, shift } = divisionBy(inRows);
      return {
        multiplier: this.#fields.word(multiplier),
        shift: this.#fields.word(shift),
        size: this.#fields.word(inRows),
      };
    });
  }

  #coordinates(row: Operand, divisors: readonly Divisor[]): Operand[] {
    const coordinates: Operand[] = [];
    let rest = row;
    for (const { multiplier, shift, size } of [...divisors].reverse()) {
      const wide = this.#assembler.op("q", "mul.wide.u32", rest, multiplier);
      const quotient = this.#assembler.op(
        "r",
        "cvt.u32.u64",
        this.#assembler.op("q", "shr.u64", wide, shift),
      );
      const taken = this.#assembler.op("r", "mul.lo.s32", quotient, size);
      coordinates.unshift(this.#assembler.op("r", "sub.s32", rest, taken));
      rest = quotient;
    }
    return [rest, ...coordinates];
  }

  /** Elements from the start of the operand; undefined for none. */
  #offset({ steps }: Pick<Source, "steps">, coordinates: readonly Operand[]): Operand | undefined {
    let offset: Operand | undefined;
    for (const [axis, step] of steps.entries()) {
      if (step === undefined) continue;
      const coordinate = coordinates[axis] ?? "0";
      offset =
        offset === undefined
          ? step === "1"
            ? coordinate
            : this.#assembler.op("r", "mul.lo.s32", coordinate, step)
          : this.#mad(coordinate, step, offset);
    }
    return offset;
  }

  #address({ view, base }: Source, offset: Operand | undefined): Operand {
    if (base === undefined || view === undefined) throw new Error("tc-lint bug: a coordinate has no address");
    if (offset === undefined) return base;
    return this.#assembler.op("q", "mad.wide.s32", offset, String(bytesOfType(view.type)), base);
  }

  /** Addresses of the outputs, and rows of the leaves. */
  #load(coordinates: readonly Operand[]) {
    const addresses = this.#outputs.map((output) => this.#address(output, this.#offset(output, coordinates)));
    const leaves = this.#leaves.map((leaf) => this.#loadLeaf(leaf, coordinates));
    return { addresses, leaves };
  }

  #loadLeaf(leaf: Source, coordinates: readonly Operand[]): LoadedRow {
    const offset = this.#offset(leaf, coordinates);
    if (leaf.view === undefined) return this.#coordinateRow(leaf, offset ?? "0");
    const { type } = leaf.view;
    if (leaf.kind === "gather" && leaf.laneStep !== undefined) {
      const step = leaf.laneStep;
      const start = offset ?? "0";
      const addresses = Array.from({ length: this.#shape.width }, (_, lane) =>
        this.#address(leaf, lane === 0 ? start : this.#mad(String(lane), step, start)),
      );
      return emitGather(this.#assembler, type, addresses);
    }
    const width = leaf.kind === "row" ? this.#shape.width : 1;
    const accessBytes = width === 1 ? bytesOfType(type) : leaf.accessBytes;
    const address = this.#address(leaf, offset);
    return emitLoad(this.#assembler, address, { type, width, accessBytes });
  }

  #coordinateRow(leaf: Source, offset: Operand): LoadedRow {
    const isApart = leaf.kind !== "repeat";
    return {
      element: (lane) =>
        isApart && lane > 0 ? this.#assembler.op("r", "add.s32", offset, String(lane)) : offset,
    };
  }

  #store(
    row: { readonly addresses: readonly Operand[]; readonly leaves: readonly LoadedRow[] },
    isInside: Operand,
    width = this.#shape.width,
  ): void {
    const lanes = new LaneValues(this.#dialect, this.#graph, this.#shape, row.leaves, this.#shared);
    for (const [index, output] of this.#outputs.entries()) {
      const root = this.#graph.roots[index];
      const address = row.addresses[index];
      if (root === undefined || address === undefined || output.view === undefined) continue;
      const { type } = output.view;
      const elements = Array.from({ length: width }, (_, lane) => lanes.stored(root, lane, type));
      const accessBytes = width === 1 ? bytesOfType(type) : output.accessBytes;
      emitStore(this.#assembler, address, { type, width, accessBytes }, elements, isInside);
    }
  }

  /** Elements after the last whole row, one to a thread. Only where there is one axis. */
  #emitTail(thread: Operand, start: number, count: number): void {
    const size = this.#fields.word(count);
    const isInside = this.#assembler.op("p", "setp.lt.u32", thread, size);
    const end = this.#assembler.label();
    this.#assembler.line(`@!${isInside} bra ${end};`);
    const element = this.#assembler.op("r", "add.s32", thread, this.#fields.word(start));
    const single = (source: Source): Source => {
      const [stride = 0] = source.strides;
      const step = stride === 0 ? undefined : (source.laneStep ?? "1");
      return { ...source, kind: stride === 0 ? "repeat" : "row", steps: [step] };
    };
    const tail = (source: Source) => this.#address(source, this.#offset(source, [element]));
    const addresses = this.#outputs.map((output) => tail(single(output)));
    const leaves = this.#leaves.map((leaf) => {
      const source = single(leaf);
      if (source.view === undefined)
        return this.#coordinateRow(source, this.#offset(source, [element]) ?? "0");
      const { type } = source.view;
      return emitLoad(this.#assembler, tail(source), { type, width: 1, accessBytes: bytesOfType(type) });
    });
    this.#store({ addresses, leaves }, isInside, 1);
    this.#assembler.place(end);
  }
}

/** Values of nodes for the lanes of one row, each computed once. */
class LaneValues {
  readonly #dialect: Dialect;
  readonly #shape: ChainShape;
  readonly #leaves: readonly LoadedRow[];
  readonly #shared: Map<number, Operand>;
  readonly #row = new Map<number, Operand>();
  readonly #lanes = new Map<string, Operand>();
  readonly #levels: readonly Level[];

  constructor(
    dialect: Dialect,
    graph: ChainGraph,
    shape: ChainShape,
    leaves: readonly LoadedRow[],
    shared: Map<number, Operand>,
  ) {
    this.#dialect = dialect;
    this.#shape = shape;
    this.#leaves = leaves;
    this.#shared = shared;
    this.#levels = levelsOf(graph, shape);
  }

  /** In a register of the class that the storage type takes. */
  stored(node: ChainNode, lane: number, type: Parameters<typeof toStorage>[2]): Operand {
    const { assembler } = this.#dialect;
    const value = toStorage(assembler, node.expr.type, type, this.#value(node, lane));
    if (value.startsWith("%")) return value;
    const kind = registerClassOf(scalarOf(type));
    return assembler.op(
      kind,
      `mov.${{ f: "f32", d: "f64", r: "b32", q: "b64", h: "b16", p: "pred" }[kind]}`,
      value,
    );
  }

  #value(node: ChainNode, lane: number): Operand {
    const level = this.#levels[node.id] ?? "lane";
    if (level === "thread") return this.#once(this.#shared, node.id, node, 0);
    if (level === "row") return this.#once(this.#row, node.id, node, 0);
    return this.#once(this.#lanes, `${node.id} ${lane}`, node, lane);
  }

  #once<K>(values: Map<K, Operand>, key: K, node: ChainNode, lane: number): Operand {
    const known = values.get(key);
    if (known !== undefined) return known;
    const value = this.#emit(node, lane);
    values.set(key, value);
    return value;
  }

  #emit(node: ChainNode, lane: number): Operand {
    const dialect = this.#dialect;
    const { assembler } = dialect;
    const { expr } = node;
    const [a = "", b = "", c = ""] = node.args.map((arg) => this.#value(arg, lane));
    const from = node.args[0]?.expr.type ?? expr.type;
    switch (expr.kind) {
      case "load":
        return emitConvert(assembler, scalarOf(expr.view.type), expr.type, this.#element(node, lane));
      case "index":
        return this.#element(node, lane);
      case "constant":
        return constantOperand(assembler, expr.type, expr.value);
      case "unary":
        return emitUnary(dialect, expr.op, expr.type, a);
      case "binary":
        return emitBinary(dialect, expr.op, expr.type, a, b);
      case "compare":
        return emitCompare(dialect, expr.op, from, a, b);
      case "test":
        return emitTest(dialect, expr.op, from, a);
      case "select":
        return emitSelect(dialect, expr.type, a, b, c);
      case "convert":
        return emitConvert(assembler, from, expr.type, a);
      case "narrow":
        return emitNarrow(assembler, expr.type, expr.to, a);
      case "bits":
        return assembler.op(expr.type === "f32" ? "f" : "r", "mov.b32", a);
      case "product":
        throw new Error("tc-lint bug: a product that was not launched is part of a chain");
    }
  }

  #element(node: ChainNode, lane: number): Operand {
    const at = node.leaf ?? 0;
    const isRepeated = this.#shape.leaves[at]?.kind === "repeat";
    return this.#leaves[at]?.element(isRepeated ? 0 : lane) ?? "";
  }
}

/** For which elements a value is the same: all of a thread, those of a row, or none. */
type Level = "thread" | "row" | "lane";

const levelNames: readonly Level[] = ["thread", "row", "lane"];

function levelsOf({ nodes }: ChainGraph, { leaves }: ChainShape): readonly Level[] {
  const levels: number[] = [];
  for (const node of nodes) {
    const leaf = node.leaf === undefined ? undefined : leaves[node.leaf];
    const varies = leaf?.strides.some((stride) => stride !== 0) ?? false;
    const own = leaf === undefined || !varies ? 0 : leaf.kind === "repeat" ? 1 : 2;
    levels[node.id] = Math.max(own, maxOf(node.args.map(({ id }) => levels[id] ?? 2)));
  }
  return levels.map((level) => levelNames[level] ?? "lane");
}
