/**
 * @file Loop: inside, facts of the carried values are widened to what holds in every iteration; what leaves it is exact
 * where the iterations can be looked at one by one.
 */

import { type Dim, unknownDim } from "../../ir/dim.ts";
import { textOf } from "../../ir/message.ts";
import type { Graph } from "../../ir/model.ts";
import { defineOp, type Fact, type OpContext, ShapeError } from "../op.ts";
import { elementsAt, numbersAt, numbersOf, tensor } from "../shape.ts";
import { noHalf } from "../traits.ts";
import { Join } from "./join.ts";
import { running, unroll } from "./unroll.ts";

type Facts = readonly (Fact | undefined)[];

/** Enough for a value that depends on one that changes; whatever still moves then is given up. */
const maxPasses = 3;

export const loopOp = defineOp({
  domain: "",
  type: "Loop",
  traits: {
    elements: "computed",
    half: noHalf({ isMixed: true }),
    layout: "fixed",
    sameSince: 11,
    uses: { 0: { kind: "count" } },
    keepsDigits: true,
  },
  traffic: "none",
  infer(context) {
    const body = context.graph("body");
    if (body === undefined) throw new ShapeError("Loop needs a body");
    const carriedCount = body.inputs.length - 2;
    if (carriedCount < 0 || body.outputs.length < carriedCount + 1) {
      throw new ShapeError(
        textOf`a body of ${body.inputs.length} inputs and ${body.outputs.length} outputs is no Loop body`,
      );
    }
    const initial = Array.from({ length: carriedCount }, (_, index) => context.inputs[index + 2]);
    const found = iterate(context, body, initial);
    const { trips } = found;
    const exact = unroll(context, body, initial, typeof trips === "number" ? trips : undefined);
    if (exact === undefined) return outputsOf(found, initial);
    // The instance that is kept says how often it runs.
    const counted = exact.trips === trips ? found : iterate(context, body, initial, exact.trips);
    const known = [...exact.carried, ...exact.scanned];
    return outputsOf(counted, initial).map((fact, index) => (hasShape(known[index]) ? known[index] : fact));
  },
});

function outputsOf({ outputs, entering, trips }: Iterations, initial: Facts): Facts {
  const carried = outputs
    .slice(1, initial.length + 1)
    .map((fact, index) => leaving(fact, index, { initial, entering, trips }));
  return [...carried, ...outputs.slice(initial.length + 1).map((fact) => stacked(fact, trips))];
}

function hasShape(fact: Fact | undefined): boolean {
  return fact !== undefined && (fact.kind !== "tensor" || fact.shape !== undefined);
}

interface Iterations {
  /** Of the body: the condition, the carried values, what is scanned. */
  readonly outputs: Facts;
  /** What holds for the carried values at the start of every iteration. */
  readonly entering: Facts;
  readonly trips: Dim;
}

function iterate(context: OpContext, body: Graph, initial: Facts, known?: number): Iterations {
  const join = new Join();
  let entering = initial;
  let trips: Dim = 0;
  for (let pass = 1; ; pass++) {
    const outputs = context.inferGraph(body, [iteration, running, ...entering], (found) => {
      trips = known ?? tripCount(context, found[0]);
      return trips;
    });
    const leaving = outputs.slice(1, entering.length + 1);
    const before = entering;
    const joined = before.map((fact, index) => join.facts(fact, leaving[index]));
    const isStable = joined.every((fact, index) => fact === before[index]);
    if (isStable || pass > maxPasses) return { outputs, entering, trips };
    entering = pass < maxPasses ? joined : joined.map(typeOnly);
  }
}

const iteration = tensor("int64", []);

/** The type of a carried value cannot change, only its shape. */
function typeOnly(fact: Fact | undefined): Fact | undefined {
  if (fact?.kind === "tensor") return tensor(fact.dtype, undefined);
  return fact?.kind === "sequence" || fact?.kind === "optional"
    ? { kind: fact.kind, element: undefined }
    : fact;
}

/** How often the body runs: the trip count where nothing can end the loop before, 0 where it never starts. */
function tripCount(context: OpContext, leavingCondition: Fact | undefined): Dim {
  const limit = elementsAt(context, 0)?.[0];
  if (limit === 0 || (typeof limit === "number" && limit < 0)) return 0;
  const hasCondition = context.inputs[1] !== undefined;
  if (hasCondition) {
    const first = numbersAt(context, 1)?.[0];
    if (first === 0) return 0;
    const next = leavingCondition?.kind === "tensor" ? numbersOf(leavingCondition.elements)?.[0] : undefined;
    const runsOnce = typeof limit === "number" || context.inputs[0] === undefined;
    if (next === 0 && first !== undefined) return runsOnce ? 1 : unknownDim();
    if (first === undefined || next === undefined) return unknownDim();
  }
  return context.inputs[0] === undefined || limit === undefined ? unknownDim() : limit;
}

function leaving(
  last: Fact | undefined,
  index: number,
  { initial, entering, trips }: { readonly initial: Facts; readonly entering: Facts; readonly trips: Dim },
): Fact | undefined {
  if (trips === 0) return initial[index];
  if (typeof trips === "number") return last;
  const first = entering[index];
  // The type is the body's: an optional that the body fills counts as filled.
  const isFilled = first?.kind === "optional" && last !== undefined && last.kind !== "optional";
  return new Join().facts(isFilled ? first.element : first, last);
}

function stacked(fact: Fact | undefined, trips: Dim): Fact | undefined {
  if (fact?.kind !== "tensor") return undefined;
  return tensor(fact.dtype, fact.shape === undefined ? undefined : [trips, ...fact.shape]);
}
