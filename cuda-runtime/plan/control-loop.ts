/** @file Loop, unrolled: one instance of the body an iteration, each with facts of its own. */
import { NodeContext } from "../../src/facts/context.ts";
import type { Scope } from "../../src/facts/scope.ts";
import type { Graph, Node, Value } from "../../src/ir/model.ts";
import { Join } from "../../src/ops/control/join.ts";
import { running } from "../../src/ops/control/unroll.ts";
import { tensor } from "../../src/ops/shape.ts";
import { dataError, nodeError } from "../graph/check.ts";
import { describeFact, elementsOfFact, sizesOfFact } from "../graph/known.ts";
import type { PlanError } from "../ir/step.ts";
import { picked } from "../ir/view.ts";
import type { Origin } from "./buffers.ts";
import {
  type BodyInput,
  bindInputs,
  bindOutputs,
  bothOf,
  instanceOf,
  isWanted,
  selected,
  settleCaptured,
} from "./control-body.ts";
import { Stack } from "./control-stack.ts";
import type { Frame } from "./frame.ts";
import type { Slot } from "./slots.ts";
import type { GraphLowering } from "./values.ts";

export function lowerLoop(node: Node, frame: Frame, planner: GraphLowering): void {
  settleCaptured(node, frame, planner.values);
  new LoopLowering(node, frame, planner).lower();
}

/** What decides whether another iteration follows. */
interface Condition {
  readonly value: Value;
  /** The instance that it is a value of. */
  readonly frame: Frame;
}

/** A carried value before an iteration. */
interface Carried extends BodyInput {
  readonly name: string;
}

class LoopLowering {
  readonly #node: Node;
  readonly #frame: Frame;
  readonly #planner: GraphLowering;
  readonly #origin: Origin;
  readonly #body: Graph;
  /** Undefined where it depends on data. */
  readonly #limit: number | undefined;
  /** Of each scan output that somebody reads and whose length is known. */
  readonly #stacks: readonly (Stack | undefined)[];
  #count = 0;
  #carried: readonly Carried[];
  /** Undefined for a Loop without one. */
  #condition: Condition | undefined;
  /** Whether iterations still count, where only data tells. */
  #mask: Slot | undefined;
  #isReserved = false;

  constructor(node: Node, frame: Frame, planner: GraphLowering) {
    const body = new NodeContext(node, frame.scope, []).graph("body");
    if (body === undefined) throw nodeError(node, "has no body");
    const [limit, condition, ...initial] = node.inputs;
    this.#node = node;
    this.#frame = frame;
    this.#planner = planner;
    this.#origin = planner.values.emitter.draft.origin;
    this.#body = body;
    this.#limit = limit === undefined ? Infinity : elementsOfFact(frame.scope.fact(limit))?.[0];
    this.#condition = condition && { value: condition, frame };
    this.#carried = initial.map((value) => {
      if (value === undefined) throw nodeError(node, "leaves out a carried value");
      return {
        name: value.name,
        fact: frame.scope.fact(value),
        slot: () => planner.values.slotOf(value, frame),
      };
    });
    this.#stacks = this.#scanned().map((output) => {
      const isKnown = isWanted(output, frame) && sizesOfFact(frame.scope.fact(output)) !== undefined;
      return isKnown ? new Stack(node, output, [0], frame, planner.values) : undefined;
    });
  }

  lower(): void {
    while (this.#goesOn()) this.#iterate();
    const { draft } = this.#planner.values.emitter;
    draft.during(this.#origin, () => {
      for (const [index, output] of this.#scanned().entries()) {
        const stack = this.#stacks[index];
        stack?.finish();
        if (stack === undefined && isWanted(output, this.#frame))
          throw dataError(this.#node, `"${output.name}" has a shape that depends on data`);
      }
      const slots = this.#carried.map(({ slot }, index) =>
        isWanted(this.#node.outputs[index], this.#frame) ? slot() : undefined,
      );
      bindOutputs(this.#node, slots, this.#frame, this.#planner.values);
    });
  }

  #goesOn(): boolean {
    const isTrue = this.#isTrue(this.#condition);
    if (isTrue === false) return false;
    if (this.#limit === undefined) {
      const name = this.#node.inputs[0]?.name ?? "";
      throw dataError(
        this.#node,
        `its trip count ("${name}") has to be known while planning, and depends on data`,
      );
    }
    if (this.#count >= this.#limit) return false;
    if (isTrue === undefined) this.#narrowMask();
    return true;
  }

  #isTrue(condition: (Pick<Condition, "value"> & { readonly frame: Pick<Frame, "scope"> }) | undefined) {
    if (condition === undefined) return true;
    const [known] = elementsOfFact(condition.frame.scope.fact(condition.value)) ?? [];
    return known === undefined ? undefined : known !== 0;
  }

  /**
   * From here on iterations count only while data says so: all of them run, and carried values stay what they were
   * once a condition is false. The number of slices cannot be left to data in that way.
   */
  #narrowMask(): void {
    if (this.#condition === undefined) return;
    const { value, frame } = this.#condition;
    const refuse = (why: string) =>
      dataError(
        this.#node,
        `${this.#conditionName()} has to be known while planning, and depends on data: ${why}`,
      );
    const [scanned] = this.#scanned().filter((output) => isWanted(output, this.#frame));
    if (scanned !== undefined) throw refuse(`it decides how many slices "${scanned.name}" has`);
    if (this.#limit === Infinity) throw refuse("nothing else ends the loop");
    const slot = this.#planner.values.slotOf(value, frame);
    this.#mask = this.#mask === undefined ? slot : bothOf(this.#mask, slot, this.#planner.values);
  }

  #iterate(): void {
    const planner = this.#planner;
    const scope = this.#instance();
    const body = planner.frameOf(scope, this.#frame, this.#wanted(scope));
    if (this.#mask !== undefined) this.#settleCarried();
    bindInputs(body, [undefined, undefined, ...this.#carried], planner.values);
    const at = this.#count;
    const slices = this.#body.outputs.slice(this.#carried.length + 1);
    for (const [index, value] of slices.entries())
      this.#stacks[index]?.reserve(value, body, (whole) => picked(whole, 0, at));
    planner.lowerGraph(body);
    planner.values.emitter.draft.during(this.#origin, () => {
      for (const [index, value] of slices.entries())
        this.#stacks[index]?.place(value, body, (whole) => picked(whole, 0, at));
      this.#carry(body);
    });
    this.#count++;
  }

  /** The body with what is known in this iteration. */
  #instance(): Scope {
    const counter: BodyInput = { fact: tensor("int64", [], [this.#count]), slot: neverAsked };
    const inputs = [counter, { fact: running, slot: neverAsked }, ...this.#carried];
    const scope = instanceOf(this.#node, this.#body, inputs, this.#frame, this.#planner);
    this.#reserve(scope);
    return scope;
  }

  /** All iterations at once where their number is known: what is too much is refused before it is planned. */
  #reserve(scope: Scope): void {
    if (this.#isReserved) return;
    const { unrolled } = this.#planner;
    const trips = this.#frame.scope.children.get(this.#node)?.[0]?.repeat;
    const done = this.#count;
    if (this.#mask !== undefined) {
      const why = `, as ${this.#conditionName()} depends on data`;
      unrolled.take(this.#node, scope, (this.#limit ?? Infinity) - done, { done, why });
    } else {
      unrolled.take(this.#node, scope, typeof trips === "number" ? trips : 1, { done });
    }
    this.#isReserved = this.#mask !== undefined || typeof trips === "number";
  }

  #conditionName(): string {
    const name = `"${this.#condition?.value.name ?? ""}"`;
    return `its condition (${this.#count === 0 ? name : `${name} of iteration ${this.#count - 1}`})`;
  }

  #wanted(scope: Scope): Value[] {
    const [value, ...outputs] = this.#body.outputs;
    const next =
      this.#condition === undefined || value === undefined ? undefined : { value, frame: { scope } };
    const goesOn = this.#isTrue(next);
    const isLast = goesOn === false || this.#count + 1 === this.#limit;
    const wanted = outputs.filter(
      (_, index) =>
        (!isLast && index < this.#carried.length) || isWanted(this.#node.outputs[index], this.#frame),
    );
    return next !== undefined && goesOn === undefined && !isLast ? [next.value, ...wanted] : wanted;
  }

  #settleCarried(): void {
    for (const { slot, fact } of this.#carried) {
      if (elementsOfFact(fact) === undefined && slot().state.kind === "lazy")
        this.#planner.values.deferred.settle(slot());
    }
  }

  #carry(body: Frame): void {
    const [condition, ...outputs] = this.#body.outputs;
    this.#carried = this.#carried.map((before, index) => {
      const value = outputs[index];
      if (value === undefined) throw this.#error(`its body has no output for "${before.name}"`);
      const slot = () => this.#planner.values.slotOf(value, body);
      const after = { name: value.name, fact: body.scope.fact(value), slot };
      return this.#mask === undefined || !body.live.isLive(value)
        ? after
        : this.#choose(this.#mask, after, before);
    });
    if (this.#condition !== undefined && condition !== undefined)
      this.#condition = { value: condition, frame: body };
  }

  /** What is carried on where only data tells whether the iteration counts. */
  #choose(mask: Slot, after: Carried, before: Carried): Carried {
    const [sizes, old] = [sizesOfFact(after.fact), sizesOfFact(before.fact)];
    if (sizes === undefined || old === undefined || String(sizes) !== String(old)) {
      throw dataError(
        this.#node,
        `${this.#conditionName()} has to be known while planning, and depends on data: it decides whether "${after.name}" is ${describeFact(before.fact)} or ${describeFact(after.fact)}`,
      );
    }
    const fact = new Join().facts(before.fact, after.fact);
    const [whenTrue, whenFalse] = [after.slot(), before.slot()];
    if (whenTrue === whenFalse || elementsOfFact(fact) !== undefined) return { ...after, fact };
    const slot = selected(mask, whenTrue, whenFalse, this.#planner.values);
    return { name: after.name, fact, slot: () => slot };
  }

  #scanned(): readonly (Value | undefined)[] {
    return this.#node.outputs.slice(this.#carried.length);
  }

  #error(reason: string): PlanError {
    return nodeError(this.#node, reason);
  }
}

function neverAsked(): never {
  throw new Error("tc-lint bug: what is known of every iteration has no place in memory");
}
