/** @file Loop, one iteration after the other: what leaves it where the number of iterations is known and small. */
import type { Dim } from "../../ir/dim.ts";
import { pushAll } from "../../ir/lists.ts";
import type { Graph } from "../../ir/model.ts";
import { type Fact, maxFoldedElements, type OpContext } from "../op.ts";
import { asTensor, elementsOf, numbersAt, numbersOf, tensor } from "../shape.ts";
import { Join } from "./join.ts";

type Facts = readonly (Fact | undefined)[];

export interface Unrolled {
  readonly trips: number;
  /** After the last iteration. */
  readonly carried: Facts;
  /** By scan output; undefined where the body never ran. */
  readonly scanned: Facts;
}

/** The body runs only while the condition holds. */
export const running = tensor("bool", [], [1]);

/**
 * Undefined where it is not known when the loop ends, or where that would be too much work.
 * `trips`: the number of iterations where it is known; else the conditions have to be.
 */
export function unroll(
  context: OpContext,
  body: Graph,
  initial: Facts,
  trips: number | undefined,
): Unrolled | undefined {
  const limit = trips ?? (context.inputs[0] === undefined ? Infinity : numbersAt(context, 0)?.[0]);
  if (limit === undefined) return undefined;
  let carried = initial;
  let isRunning = trips !== undefined ? true : conditionOf(context.inputs[1]);
  const slices: Facts[] = [];
  while (isRunning === true && slices.length < limit) {
    const ahead = trips === undefined ? 1 : trips - slices.length;
    const counter = tensor("int64", [], [slices.length]);
    const outputs = context.inferIteration(body, [counter, running, ...carried], ahead);
    if (outputs === undefined) return undefined;
    carried = outputs.slice(1, initial.length + 1);
    slices.push(outputs.slice(initial.length + 1));
    if (trips === undefined) isRunning = conditionOf(outputs[0]);
  }
  if (isRunning === undefined) return undefined;
  const scanned = (slices[0] ?? []).map((_, index) => stacked(slices.map((outputs) => outputs[index])));
  return { trips: slices.length, carried, scanned };
}

/** Whether the loop goes on; a Loop without a condition always does. */
function conditionOf(fact: Fact | undefined): boolean | undefined {
  if (fact === undefined) return true;
  const known = numbersOf(elementsOf(asTensor(fact)))?.[0];
  return known === undefined ? undefined : known !== 0;
}

function stacked(slices: Facts): Fact | undefined {
  const join = new Join();
  const common = slices.reduce((all, slice) => join.facts(all, slice));
  if (common?.kind !== "tensor") return undefined;
  const { dtype, shape } = common;
  if (shape === undefined) return tensor(dtype, undefined);
  return tensor(dtype, [slices.length, ...shape], elementsIn(slices));
}

function elementsIn(slices: Facts): readonly Dim[] | undefined {
  const all: Dim[] = [];
  for (const slice of slices) {
    const elements = elementsOf(asTensor(slice));
    if (elements === undefined || all.length + elements.length > maxFoldedElements) return undefined;
    pushAll(all, elements);
  }
  return all;
}
