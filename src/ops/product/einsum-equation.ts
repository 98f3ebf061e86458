/** @file Einsum equations: text to labelled axes, with the ellipsis spelled out. */

import { type Dim, type Shape, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import { ShapeError } from "../op.ts";
import { broadcast } from "../shape.ts";

/** One operand: a label and a size for each axis. */
export interface LabelledAxes {
  readonly labels: readonly string[];
  readonly dims: Shape;
}

export interface Contraction {
  readonly operands: readonly LabelledAxes[];
  readonly output: readonly string[];
  /** Every label's size, broadcast over the operands. */
  readonly sizes: ReadonlyMap<string, Dim>;
}

const ellipsis = "...";

/**
 * Reads `equation` against the operands' shapes. Axes under an ellipsis get the labels "…0", "…1" from the last one
 * on, so that they align as broadcasting does. Undefined where an ellipsis stands for a rank that is not known.
 */
export function readEquation(
  equation: string,
  shapes: readonly (Shape | undefined)[],
): Contraction | undefined {
  const [left = "", right, ...more] = equation.replaceAll(/\s/g, "").split("->");
  const terms = left.split(",").map(tokens);
  if (more.length > 0) throw new ShapeError(textOf`equation "${equation}" has more than one arrow`);
  if (terms.length !== shapes.length) {
    throw new ShapeError(
      textOf`equation "${equation}" has ${terms.length} terms for ${shapes.length} operands`,
    );
  }
  const operands: LabelledAxes[] = [];
  for (const [at, term] of terms.entries()) {
    const operand = labelAxes(term, shapes[at], at);
    if (operand === undefined) return undefined;
    operands.push(operand);
  }
  const sizes = labelSizes(operands);
  const hidden = hiddenLabels([...sizes.keys()].filter(isHidden).length);
  const output = right === undefined ? implicitOutput(terms, hidden) : expand(tokens(right), hidden);
  requireOutput(output, sizes);
  return { operands, output, sizes };
}

function tokens(term: string): readonly string[] {
  const found: readonly string[] = term.match(/\.\.\.|[A-Za-z]/g) ?? [];
  if (found.join("") !== term || found.indexOf(ellipsis) !== found.lastIndexOf(ellipsis)) {
    throw new ShapeError(textOf`"${term}" is not a term of an equation`);
  }
  return found;
}

function labelAxes(
  term: readonly string[],
  shape: Shape | undefined,
  operand: number,
): LabelledAxes | undefined {
  const open = term.includes(ellipsis);
  const named = term.length - (open ? 1 : 0);
  if (shape === undefined) return open ? undefined : { labels: term, dims: term.map(() => unknownDim()) };
  const covered = shape.length - named;
  if (covered < 0 || (covered > 0 && !open)) {
    throw new ShapeError(
      textOf`operand ${operand} has rank ${shape.length}, its term "${term.join("")}" ${named} labels`,
    );
  }
  return { labels: expand(term, hiddenLabels(covered)), dims: shape };
}

function hiddenLabels(count: number): readonly string[] {
  return Array.from({ length: count }, (_, at) => `…${count - 1 - at}`);
}

function isHidden(label: string): boolean {
  return label.startsWith("…");
}

function expand(term: readonly string[], hidden: readonly string[]): readonly string[] {
  return term.flatMap((label) => (label === ellipsis ? hidden : [label]));
}

function labelSizes(operands: readonly LabelledAxes[]): Map<string, Dim> {
  const sizes = new Map<string, Dim>();
  for (const { labels, dims } of operands) {
    for (const [axis, label] of labels.entries()) {
      const [size] = broadcast([sizes.get(label) ?? 1], [dims[axis] ?? 1]) ?? [];
      if (size !== undefined) sizes.set(label, size);
    }
  }
  return sizes;
}

/** The axes under the ellipsis, then every label that occurs once, in alphabetical order. */
function implicitOutput(terms: readonly (readonly string[])[], hidden: readonly string[]): readonly string[] {
  const counts = new Map<string, number>();
  for (const label of terms.flat()) counts.set(label, (counts.get(label) ?? 0) + 1);
  const single = [...counts].filter(([label, count]) => count === 1 && label !== ellipsis);
  return [...hidden, ...single.map(([label]) => label).sort()];
}

function requireOutput(output: readonly string[], sizes: ReadonlyMap<string, Dim>): void {
  const missing = output.find((label) => !sizes.has(label));
  if (missing !== undefined) throw new ShapeError(textOf`output label ${missing} is in no operand`);
  if (new Set(output).size !== output.length) {
    throw new ShapeError(textOf`output labels "${output.join("")}" repeat`);
  }
}
