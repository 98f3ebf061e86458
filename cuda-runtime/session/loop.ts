/** @file A Loop that data ends: its body runs as a program of its own, as often as the host finds that it goes on. */
import { graphAttributeOf } from "../../src/ir/attributes.ts";
import { invariant } from "../../src/ir/errors.ts";
import type { Graph, Node, Value } from "../../src/ir/model.ts";
import { running } from "../../src/ops/control/unroll.ts";
import { tensor } from "../../src/ops/shape.ts";
import { nodeError } from "../graph/check.ts";
import { isStorageType } from "../ir/storage.ts";
import type { HostWork } from "../plan/cuts.ts";
import { type Computed, dtypeOf, type Stage } from "../plan/program.ts";
import { bytesOf, type Held, type HeldValues, type ProgramMachine } from "./held.ts";

export class LoopRun {
  readonly #runner: ProgramMachine;
  readonly #work: Extract<HostWork, { kind: "loop" }>;
  readonly #node: Node;
  readonly #body: Graph;
  readonly #stage: Stage;
  readonly #held: HeldValues;
  #carried: readonly Held[];
  readonly #slices: readonly Held[][];
  readonly #places = new Map<string, { readonly bytes: number; readonly address: number }>();

  constructor(
    runner: ProgramMachine,
    work: Extract<HostWork, { kind: "loop" }>,
    stage: Stage,
    held: HeldValues,
  ) {
    const { node } = work;
    const body = graphAttributeOf(node, "body");
    invariant(body !== undefined, "a Loop without a body was planned");
    this.#runner = runner;
    this.#work = work;
    this.#node = node;
    this.#body = body;
    this.#stage = stage;
    this.#held = held;
    this.#carried = node.inputs.slice(2).map((value) => {
      if (value === undefined) throw nodeError(node, `leaves out a carried value`);
      return runner.resultOf(value, stage, held);
    });
    this.#slices = body.outputs.slice(this.#carried.length + 1).map(() => []);
  }

  /** `give` is told the node's outputs. */
  run(give: (value: Value, held: Held) => void): void {
    const [limit, condition] = this.#node.inputs;
    const most = limit === undefined ? Infinity : this.#numberOf(limit, this.#stage, this.#held);
    let goesOn = condition === undefined || this.#numberOf(condition, this.#stage, this.#held) !== 0;
    for (let iteration = 0; goesOn && iteration < most; iteration++)
      goesOn = this.#iterate(iteration) || condition === undefined;
    for (const [index, value] of this.#node.outputs.entries()) {
      if (value === undefined) continue;
      const carried = this.#carried[index];
      give(value, carried ?? this.#stacked(value, this.#slices[index - this.#carried.length] ?? []));
    }
  }

  #numberOf(value: Value, stage: Stage, held: HeldValues): number {
    const [number] = Array.from(this.#runner.hostOf(value, stage, held).values);
    invariant(number !== undefined, `"${value.name}" has no element`);
    return number;
  }

  /** Whether another one follows. */
  #iterate(iteration: number): boolean {
    const [counter, , ...inputs] = this.#body.inputs;
    const [goesOn, ...outputs] = this.#body.outputs;
    const held = new Map(this.#held);
    const entering = new Map<Value, Computed>();
    const host = { type: "int64", shape: [], values: [iteration] } as const;
    if (counter !== undefined) {
      held.set(counter, { type: "int64", shape: [], address: undefined, host });
      entering.set(counter, { type: "int64", fact: tensor("int64", []) });
    }
    for (const [index, value] of inputs.entries()) {
      const own = this.#carried[index];
      if (own === undefined) continue;
      held.set(value, own);
      entering.set(value, { type: own.type, fact: tensor(this.#dtypeOf(index) ?? own.type, own.shape) });
    }
    const facts = this.#body.inputs.map((_, index) => (index === 1 ? running : undefined));
    const isAsked = this.#node.inputs[1] !== undefined;
    const wanted = isAsked && goesOn !== undefined ? [goesOn, ...outputs] : outputs;
    const program = this.#stage.program(this.#work, this.#body, facts, entering, wanted);
    const done = this.#runner.execute(program, held);
    const results = outputs.map((value) => this.#runner.resultOf(value, done.last, done.held));
    const slices = results.slice(this.#carried.length);
    for (const [index, slice] of slices.entries())
      this.#slices[index]?.push(this.#kept(slice, (bytes) => this.#runner.device.allocate(bytes)));
    this.#carried = results.slice(0, this.#carried.length).map((own, index) => {
      const place = `${iteration % 2} ${index}`;
      return this.#kept(own, (bytes) => this.#placeOf(place, bytes));
    });
    return isAsked && goesOn !== undefined && this.#numberOf(goesOn, done.last, done.held) !== 0;
  }

  #dtypeOf(index: number): ReturnType<typeof dtypeOf> {
    const value = this.#node.inputs[index + 2];
    return value && dtypeOf(this.#stage.scope.fact(value));
  }

  /** In memory that the body does not write. */
  #kept(own: Held, allocate: (bytes: number) => number): Held {
    if (own.address === undefined) return own;
    const address = allocate(bytesOf(own.type, own.shape));
    this.#runner.place(own, address);
    return { ...own, address, moves: true };
  }

  /** Carried values take turns between two places, as one may be made of another. */
  #placeOf(name: string, bytes: number): number {
    const known = this.#places.get(name);
    if (known?.bytes === bytes) return known.address;
    const address = this.#runner.device.allocate(bytes);
    this.#places.set(name, { bytes, address });
    return address;
  }

  /** Slices behind each other. */
  #stacked(value: Value, slices: readonly Held[]): Held {
    const [first] = slices;
    if (first === undefined) return this.#empty(value);
    const shape = [slices.length, ...first.shape];
    const address = this.#runner.device.allocate(bytesOf(first.type, shape));
    for (const [index, slice] of slices.entries()) {
      if (String(slice.shape) !== String(first.shape))
        throw nodeError(this.#node, `slices of "${value.name}" are [${first.shape}] and [${slice.shape}]`);
      this.#runner.place(slice, address + index * bytesOf(first.type, first.shape));
    }
    return { type: first.type, shape, address, host: undefined, moves: true };
  }

  /** Of a body that never ran: sizes that nobody knows are zero. */
  #empty(value: Value): Held {
    const fact = this.#stage.scope.fact(value);
    const type = dtypeOf(fact);
    const sizes = fact?.kind === "tensor" ? fact.shape : undefined;
    if (!isStorageType(type) || sizes === undefined)
      throw nodeError(this.#node, `"${value.name}" has no known type`);
    const shape = [0, ...sizes.slice(1).map((size) => (typeof size === "number" ? size : 0))];
    return { type, shape, address: undefined, host: { type, shape, values: [] } };
  }
}
