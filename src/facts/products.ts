/** @file Every product of a model: what Tensor Cores could do, and what its operands are. */
import { type Dim, isUnknown, SymbolicDim } from "../ir/dim.ts";
import type { DType } from "../ir/dtype.ts";
import type { Node, Value } from "../ir/model.ts";
import type { ProductWork, Work } from "../ops/work.ts";
import { type AttentionInScope, type DecomposedAttention, findAttention } from "./attention.ts";
import type { Facts } from "./infer.ts";
import { isNhwcBody } from "./nhwc-body.ts";
import { constantBehind, dequantizedFrom } from "./origin.ts";
import type { Scope } from "./scope.ts";
import { WorkPool } from "./shared-work.ts";
import { operatorIn, worksOf } from "./works.ts";

export interface Product {
  /** Of attention written out as several nodes: the product of queries and keys. */
  readonly node: Node;
  readonly scope: Scope;
  readonly work: ProductWork;
  /** All nodes the work stands for, in graph order. */
  readonly nodes: readonly Node[];
  /** The first operand that is computed; not set for attention. */
  readonly input: Value | undefined;
  /** The initializer or Constant behind an operand, possibly in an outer scope; not set for attention. */
  readonly weight: Value | undefined;
  /**
   * The type of both operands' codes where both are dequantized 8-bit values, uint8 as int8, two formats of floats as the wider
   * e5m2. `work.dtype` is it where the target multiplies the codes, else what they become.
   */
  readonly codes: DType | undefined;
  /** Set where several nodes write attention out. */
  readonly decomposed: DecomposedAttention | undefined;
}

export interface UnresolvedProduct {
  readonly node: Node;
  readonly scope: Scope;
  readonly reason: string;
}

export interface Products {
  readonly products: readonly Product[];
  /** Products whose sizes only running the model would tell. */
  readonly unresolved: readonly UnresolvedProduct[];
}

export type MultipliesCodes = (codes: DType, work: ProductWork) => boolean;

/**
 * Products of every instance of every graph, in graph order. `seesAttention`: whether attention that is written out as several nodes is
 * one product, as it is where something fuses it; else each of its nodes is by itself. `multipliesCodes`: whether a product of
 * dequantized codes of a type multiplies the codes; all do unless it is given. `undoesLayout`: whether what spells NHWC runs in NCHW.
 */
export function extractProducts(
  facts: Facts,
  {
    seesAttention = true,
    multipliesCodes = () => true,
    undoesLayout = false,
  }: {
    readonly seesAttention?: boolean;
    readonly multipliesCodes?: MultipliesCodes;
    readonly undoesLayout?: boolean;
  } = {},
): Products {
  const products: Product[] = [];
  const unresolved: UnresolvedProduct[] = [];
  const pool = new WorkPool();
  for (const scope of facts.scopes()) {
    const { found, covered } = seesAttention ? findAttention(scope) : unseen;
    const skipped = new Set(scope.skipped.map((entry) => entry.node));
    for (const node of scope.graph.nodes) {
      const decomposed = found.get(node);
      if (covered.has(node) && decomposed === undefined) continue;
      const extracted =
        decomposed === undefined
          ? productsOf(node, scope, { pool, multipliesCodes, undoesLayout })
          : [attentionProduct(decomposed, scope, pool)];
      for (const product of extracted) {
        if (isComplete(product)) products.push(product);
        // A skipped node is reported as such, once.
        else if (!skipped.has(node)) unresolved.push({ node, scope, reason: reasonOf(product.work) });
      }
    }
  }
  return { products, unresolved };
}

const unseen: AttentionInScope = { found: new Map(), covered: new Set() };

type Candidate = Omit<Product, "work"> & { readonly work: ProductWork | undefined };

function isComplete(product: Candidate): product is Product {
  return product.work !== undefined && isResolved(product.work);
}

function attentionProduct(decomposed: DecomposedAttention, scope: Scope, pool: WorkPool): Candidate {
  const { scores: node, nodes } = decomposed;
  const work = pool.share(decomposed.work);
  return { node, scope, work, nodes, input: undefined, weight: undefined, codes: undefined, decomposed };
}

/** None for a node that is no product. */
function productsOf(
  node: Node,
  scope: Scope,
  {
    pool,
    multipliesCodes,
    undoesLayout,
  }: {
    readonly pool: WorkPool;
    readonly multipliesCodes: MultipliesCodes;
    readonly undoesLayout: boolean;
  },
): readonly Candidate[] {
  const op = operatorIn(node, scope);
  if (op?.product !== true) return [];
  const common = { node, scope, nodes: [node], decomposed: undefined };
  const nothing = { input: undefined, weight: undefined, codes: undefined };
  const works = worksOf(node, scope);
  if (works === undefined) return [{ ...common, ...nothing, work: undefined }];
  return works.filter(isProductWork).map((asWritten): Candidate => {
    const isTurned = asWritten.kind === "conv" && isNhwcBody(scope) && !undoesLayout;
    const work = isTurned ? { ...asWritten, layout: "nhwc" as const } : asWritten;
    if (work.kind === "attention") return { ...common, ...nothing, work: pool.share(work) };
    const { input, weight, codes } = operandsOf(node, scope, op.operands ?? [0, 1]);
    const isOfCodes = codes !== undefined && multipliesCodes(codes, work);
    const typed = pool.share(isOfCodes ? { ...work, dtype: codes } : work);
    return { node, scope, work: typed, nodes: [node], input, weight, codes, decomposed: undefined };
  });
}

function operandsOf(node: Node, scope: Scope, positions: readonly [number, number]) {
  const operands = positions.flatMap((position) => node.inputs[position] ?? []);
  const constants = operands.map((operand) => constantBehind(operand, scope));
  const [a, b] = operands.map((operand) => dequantizedFrom(operand, scope));
  return {
    input: operands.find((_, index) => constants[index] === undefined),
    weight: constants.find((constant) => constant !== undefined),
    codes: a === undefined || b === undefined ? undefined : commonCodes(a, b),
  };
}

/** Tensor Cores multiply both formats of floats by each other (PTX ISA, mma: `.e4m3` and `.e5m2` mix freely). */
const floatCodes: readonly DType[] = ["float8e4m3fn", "float8e5m2"];

function commonCodes(a: DType, b: DType): DType | undefined {
  if (a === b) return a;
  return floatCodes.includes(a) && floatCodes.includes(b) ? "float8e5m2" : undefined;
}

function isProductWork(work: Work): work is ProductWork {
  return work.kind !== "traffic";
}

function isResolved(work: ProductWork): boolean {
  return Object.values(work).every((field) =>
    Array.isArray(field) ? field.every((entry) => !isUnknownDim(entry)) : !isUnknownDim(field),
  );
}

function isUnknownDim(field: unknown): boolean {
  return field instanceof SymbolicDim && isUnknown(field);
}

function unknownFields(work: ProductWork): string[] {
  return Object.entries(work).flatMap(([name, field]) => (dimsOf(field).some(isUnknown) ? [name] : []));
}

function dimsOf(field: unknown): readonly Dim[] {
  const entries: readonly unknown[] = Array.isArray(field) ? field : [field];
  return entries.filter(isDim);
}

function isDim(entry: unknown): entry is Dim {
  return typeof entry === "number" || entry instanceof SymbolicDim;
}

function reasonOf(work: ProductWork | undefined): string {
  if (work === undefined) return "shapes or types of its operands are not known";
  return `not known before the model runs: ${unknownFields(work).join(", ")}`;
}
