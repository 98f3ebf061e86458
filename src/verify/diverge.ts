/**
 * @file Finds where two models part: a value that differs although everything it is computed from agrees.
 *
 * Values of one name in both models are made outputs, a few at a time: spread over everything the wrong output depends
 * on, then over the stretch before the first that differs. That first one may still follow from another, on a branch
 * that was not looked at: so its own operands are looked at last, and theirs, until they agree.
 */
import { InputError } from "../ir/errors.ts";
import { pushAll } from "../ir/lists.ts";
import type { Model, Node, Value } from "../ir/model.ts";
import { labelOf, operatorOf } from "../ir/model.ts";
import { nodesIn } from "../ir/nodes.ts";
import { exposeValues } from "../onnx/expose.ts";
import { modelInMemory } from "../onnx/in-memory.ts";
import type { OpenModel } from "../onnx/open.ts";
import type { Budget } from "./budget.ts";
import { compareTensors, type Difference, type Lanes, trueLanes } from "./compare.ts";
import { openSession, type SessionOptions } from "./ort.ts";
import { drawText, type Run } from "./plan.ts";
import type { DivergenceReport } from "./report.ts";
import { isFloatTensor, type Tensor, type Tensors } from "./tensor.ts";

/** Values looked at in one run: memory for all of them is needed at once. */
const probesAtOnce = 16;
/** A search gives up after this many runs of each model. */
const maxRounds = 24;

export interface DivergenceTask {
  readonly original: OpenModel;
  readonly candidate: OpenModel;
  readonly run: Run;
  /** The same for the candidate. */
  readonly candidateInputs: Tensors;
  /** The output that is wrong. */
  readonly output: string;
  /** Largest error of a value, as a share of its largest magnitude, that is not a difference yet. */
  readonly tolerance: number;
  /** Whether the candidate computes in half: operands that agree may decide otherwise. */
  readonly isHalf: boolean;
  /** Of padded values of the candidate, by name. */
  readonly lanes: ReadonlyMap<string, Lanes>;
  readonly session: SessionOptions;
  readonly onProgress: (what: string) => void;
}

/** Far below the error that is to be explained, and above what rounding does to inner values. */
export function divergenceTolerance(budget: Budget, error: number): number {
  const halfTolerance = { float16: 0.02, bfloat16: 0.1 } as const;
  if (budget.kind === "half") return halfTolerance[budget.dtype];
  const isGross = !(error < 100 * budget.tolerance);
  return isGross ? 10 * budget.tolerance : budget.tolerance;
}

/** Undefined where no value of one name and shape shows the difference. */
export async function firstDivergence(task: DivergenceTask): Promise<DivergenceReport | undefined> {
  return new Search(task).run();
}

type Verdict =
  | { readonly kind: "agrees" | "unknown" }
  | {
      readonly kind: "differs";
      readonly difference: Difference | undefined;
      readonly problem: string | undefined;
      readonly isExact: boolean;
    };

class Search {
  readonly #task: DivergenceTask;
  /** What the output depends on and both models name, producers first. */
  readonly #values: readonly Value[];
  readonly #verdicts = new Map<Value, Verdict>();
  #rounds = 0;

  constructor(task: DivergenceTask) {
    this.#task = task;
    this.#values = comparable(task);
  }

  async run(): Promise<DivergenceReport | undefined> {
    let found = await this.#narrow();
    for (let next = found; next !== undefined; ) {
      found = next;
      next = await this.#differingOperand(found);
    }
    return found && this.#report(found);
  }

  /** The first value, of those looked at, that differs. */
  async #narrow(): Promise<Value | undefined> {
    let end = this.#values.length;
    let found: Value | undefined;
    while (this.#rounds < maxRounds) {
      const open = this.#values.slice(0, end).filter((value) => !this.#verdicts.has(value));
      // Before the first difference, what follows the last agreement is most likely to hold another.
      const agreed = this.#values
        .slice(0, end)
        .findLastIndex((value) => this.#verdicts.get(value)?.kind === "agrees");
      const later = open.filter((value) => this.#values.indexOf(value) > agreed);
      if (later.length === 0) return found;
      await this.#look(spread(later));
      const first = this.#values
        .slice(0, end)
        .findIndex((value) => this.#verdicts.get(value)?.kind === "differs");
      if (first < 0) continue;
      found = this.#values[first];
      end = first;
    }
    return found;
  }

  /** A value that `value` is computed from, through values that cannot be compared, and that differs. */
  async #differingOperand(value: Value): Promise<Value | undefined> {
    const operands = this.#nearest(value);
    const open = operands.filter((operand) => !this.#verdicts.has(operand));
    for (let from = 0; from < open.length && this.#rounds < maxRounds; from += probesAtOnce) {
      await this.#look(open.slice(from, from + probesAtOnce));
    }
    return operands.find((operand) => this.#verdicts.get(operand)?.kind === "differs");
  }

  #nearest(value: Value): Value[] {
    const named = new Set(this.#values);
    const found = new Set<Value>();
    const queue = [...operandsOf(value)];
    const seen = new Set<Value>();
    for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
      if (seen.has(next)) continue;
      seen.add(next);
      if (named.has(next) && this.#verdicts.get(next)?.kind !== "unknown") found.add(next);
      else pushAll(queue, operandsOf(next));
    }
    return [...found];
  }

  /** Runs both models with these values as outputs, and notes what became of each. */
  async #look(values: readonly Value[]): Promise<void> {
    const { original, candidate, run, candidateInputs, onProgress } = this.#task;
    this.#rounds += 1;
    onProgress(`looking for the first difference: ${values.length} of ${this.#values.length} values`);
    const names = values.map(({ name }) => name);
    const expected = await this.#observe(original, names, run.inputs);
    const actual = await this.#observe(candidate, names, candidateInputs);
    for (const value of values) {
      this.#verdicts.set(value, this.#verdict(value.name, expected.get(value.name), actual.get(value.name)));
    }
  }

  #verdict(name: string, expected: Tensor | undefined, actual: Tensor | undefined): Verdict {
    if (expected === undefined || actual === undefined) return { kind: "unknown" };
    const lanes = this.#task.lanes.get(name);
    const real = lanes === undefined ? actual : trueLanes(actual, lanes);
    if (real === undefined) return { kind: "unknown" };
    const isExact = !isFloatTensor(expected);
    if (real.dims.join() !== expected.dims.join()) {
      // Of floats, it may be padded; what is found or counted is not.
      if (!isExact || real.dims.length !== expected.dims.length) return { kind: "unknown" };
      const problem = `has shape [${real.dims.join(",")}], expected [${expected.dims.join(",")}]`;
      return { kind: "differs", difference: undefined, problem, isExact };
    }
    const difference = compareTensors(expected, real);
    const limit = this.#task.tolerance * difference.largest;
    const agrees = difference.mismatches === 0 && difference.maximumError <= limit;
    return agrees ? { kind: "agrees" } : { kind: "differs", difference, problem: undefined, isExact };
  }

  /** What the runtime gives for these values; one whose type it cannot hand out is left out. */
  async #observe(model: OpenModel, names: readonly string[], inputs: Tensors): Promise<Tensors> {
    const bytes = modelInMemory(model.path, () => exposeValues(model, model.source, names));
    const runnable = { path: model.path, ...bytes };
    try {
      await using session = await openSession(runnable, this.#task.session);
      return await session.run(inputs);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      if (names.length <= 1) return new Map();
      const middle = names.length >> 1;
      const first = await this.#observe(model, names.slice(0, middle), inputs);
      const second = await this.#observe(model, names.slice(middle), inputs);
      return new Map([...first, ...second]);
    }
  }

  #report(value: Value): DivergenceReport | undefined {
    const verdict = this.#verdicts.get(value);
    const { producer, name } = value;
    if (verdict?.kind !== "differs" || producer === undefined) return undefined;
    return {
      value: name,
      node: labelOf(producer),
      operator: operatorOf(producer),
      draw: drawText(this.#task.run.draw),
      difference: verdict.difference,
      problem: verdict.problem,
      isDecision: this.#task.isHalf && verdict.isExact,
    };
  }
}

/** At most `probesAtOnce` of a list, evenly over it, its last one included. */
function spread(values: readonly Value[]): Value[] {
  const count = Math.min(probesAtOnce, values.length);
  const picked = Array.from(
    { length: count },
    (_, index) => values[Math.ceil(((index + 1) * values.length) / count) - 1],
  );
  return picked.filter((value) => value !== undefined);
}

function comparable({ original, candidate, output }: DivergenceTask): Value[] {
  const needed = ancestors(original, output);
  return original.graph.nodes
    .flatMap((node) => node.outputs.filter((value) => value !== undefined))
    .filter((value) => needed.has(value) && isTensor(value) && isComputed(candidate, value.name));
}

function isTensor({ declared }: Value): boolean {
  return declared === undefined || declared.kind === "tensor";
}

function isComputed({ graph }: Model, name: string): boolean {
  const value = graph.values.get(name);
  return value?.producer !== undefined && isTensor(value);
}

function ancestors({ graph }: Model, output: string): ReadonlySet<Value> {
  const needed = new Set<Value>();
  const queue = [graph.values.get(output)];
  for (let value = queue.pop(); value !== undefined; value = queue.pop()) {
    if (needed.has(value)) continue;
    needed.add(value);
    pushAll(queue, operandsOf(value));
  }
  return needed;
}

/** What a value's node reads, inside its subgraphs as well, of the graph the value is in. */
function operandsOf({ producer, graph }: Value): Value[] {
  if (producer === undefined) return [];
  const captured = [...nodesIn(producer)].flatMap((node: Node) => node.inputs);
  return [...producer.inputs, ...captured]
    .filter((value) => value !== undefined)
    .filter((value) => value.graph === graph);
}
