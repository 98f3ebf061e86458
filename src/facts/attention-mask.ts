/** @file Whether a mask lets a query see earlier keys only. */
import { type Dim, type Shape, sameDim } from "../ir/dim.ts";
import type { Node, Value } from "../ir/model.ts";
import { isOp } from "../ops/ask.ts";
import { numbersOf } from "../ops/shape.ts";
import type { Scope } from "./scope.ts";

export interface MaskUse {
  readonly value: Value;
  /** Added to the scores; as a condition, keeps or replaces them; or anything else. */
  readonly kind: "added" | "keeps" | "replaces" | "other";
}

interface Lengths {
  readonly queryLength: Dim;
  readonly keyLength: Dim;
}

/** Nodes looked at behind a mask. */
const maxVisited = 48;
/** Added to a score, this or less leaves nothing of it: half precision's masks are -1e4, or its lowest number. */
const blockingBias = -1e4;

/**
 * Proven by the elements where they are known. Where they are not, by how the mask is made: from a triangle (Trilu),
 * or by comparing a column of positions with a row of positions.
 */
export function isCausalMask(use: MaskUse, scope: Scope, lengths: Lengths): boolean {
  if (use.kind === "other") return false;
  const fact = scope.fact(use.value);
  const elements = fact?.kind === "tensor" ? numbersOf(fact.elements) : undefined;
  if (fact?.kind === "tensor" && elements !== undefined)
    return isTriangle(fact.shape, elements, use.kind, lengths);
  return isMadeOfTriangle(use.value, scope, lengths);
}

function isTriangle(
  shape: Shape | undefined,
  elements: readonly number[],
  kind: MaskUse["kind"],
  { queryLength, keyLength }: Lengths,
): boolean {
  const [rows, columns] = shape?.slice(-2) ?? [];
  if (typeof rows !== "number" || typeof columns !== "number" || rows < 2) return false;
  if (!sameDim(rows, queryLength) || !sameDim(columns, keyLength)) return false;
  // The last query sees every key, so the diagonal ends in the lower right corner.
  return elements.every((element, index) => {
    const query = Math.floor(index / columns) % rows;
    return isBlocked(element, kind) === (index % columns) - query > columns - rows;
  });
}

function isBlocked(element: number, kind: MaskUse["kind"]): boolean {
  if (kind === "added") return element <= blockingBias;
  return (element === 0) === (kind === "keeps");
}

/** Looks for what makes a triangle behind the mask; an Or could let more through. */
function isMadeOfTriangle(mask: Value, scope: Scope, lengths: Lengths): boolean {
  const queue: Value[] = [mask];
  const seen = new Set(queue);
  let found = false;
  for (const { producer } of queue) {
    if (producer === undefined || producer.graph !== scope.graph) continue;
    if (isOp(producer, "Or")) return false;
    found ||= isOp(producer, "Trilu") || comparesPositions(producer, scope, lengths);
    for (const input of producer.inputs) {
      if (input === undefined || seen.has(input) || seen.size >= maxVisited) continue;
      seen.add(input);
      queue.push(input);
    }
  }
  return found;
}

const comparisons: ReadonlySet<string> = new Set(["Less", "LessOrEqual", "Greater", "GreaterOrEqual"]);

/** A column of query positions against a row of key positions, both counted by Range. */
function comparesPositions(node: Node, scope: Scope, { queryLength, keyLength }: Lengths): boolean {
  if (node.domain !== "" || !comparisons.has(node.opType)) return false;
  const isColumn = (value: Value | undefined) => {
    const shape = scope.shape(value);
    const [row, column] = shape?.slice(-2) ?? [];
    return (
      shape !== undefined &&
      shape.length >= 2 &&
      column === 1 &&
      row !== undefined &&
      sameDim(row, queryLength)
    );
  };
  const isRow = (value: Value | undefined) => {
    const [column, row = 1] = scope.shape(value)?.slice(-2).reverse() ?? [];
    return column !== undefined && sameDim(column, keyLength) && row === 1;
  };
  const [a, b] = node.inputs;
  const isGrid = (isColumn(a) && isRow(b)) || (isColumn(b) && isRow(a));
  return isGrid && queryLength !== 1 && countsUp(a, scope) && countsUp(b, scope);
}

/** Whether the value is a Range, reshaped, offset or converted. */
function countsUp(value: Value | undefined, scope: Scope): boolean {
  let at = value;
  for (let step = 0; step < 8 && at !== undefined; step++) {
    const node: Node | undefined = at.producer;
    if (node === undefined || node.graph !== scope.graph) return false;
    if (isOp(node, "Range")) return true;
    [at] = node.inputs;
  }
  return false;
}
