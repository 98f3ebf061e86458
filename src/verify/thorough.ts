/**
 * @file What a proof runs beyond a sample: a second size of every symbolic axis, no samples at all, and unusual inputs.
 * What the original itself cannot run is left out, and said.
 */
import { InputError } from "../ir/errors.ts";
import { pushAll } from "../ir/lists.ts";
import type { Model } from "../ir/model.ts";
import { own } from "../ir/own.ts";
import { mayBeInfinite } from "./beyond.ts";
import type { Draw } from "./inputs.ts";
import type { Session } from "./ort.ts";
import {
  attempt,
  findSizes,
  furtherDraws,
  type Place,
  type Plan,
  type PlanOptions,
  placeOf,
  type Run,
  runDraw,
  runOriginal,
  sizeText,
} from "./plan.ts";
import { doings } from "./protocol.ts";
import { batchSymbols, changedSizes, inputSymbols } from "./sizes.ts";
import { isFloatTensor, numbersOf, type Tensors } from "./tensor.ts";
import { unusualDraws } from "./unusual.ts";
import type { Bindings } from "./use.ts";

export interface ThoroughOptions extends PlanOptions {
  /** Sizes beside those given are tried as well. */
  readonly otherSizes: boolean;
  /** Whether 0 samples are tried. */
  readonly emptyBatch: boolean;
}

/** The seed of the draw that is run with optimizations off, and with all of them, instead of with some. */
export const seedOfOtherWays = 2;

/** Runs the original on every set of inputs. Throws InputError `cannot-run` where it takes none. */
export async function runThoroughly(session: Session, model: Model, request: ThoroughOptions): Promise<Plan> {
  if (request.given !== undefined) return runOriginal(session, model, request);
  const options = request.otherSizes ? { ...request, sizes: sizesOfInputs(model, request) } : request;
  const { first, isNarrow } = await findSizes(session, model, options);
  const runner = new Runner(session, model, isNarrow, options);
  const runs = [...first, ...(await runner.atOtherSizes(first))];
  const smallest = placeOf(smallestOf(runs), isNarrow);
  for (const { kind, seed } of furtherDraws(options)) {
    if (kind === "normal" && seed === seedOfOtherWays) continue;
    runs.push(await runDraw(session, model, { kind, seed, ...smallest }, options));
  }
  pushAll(runs, await runner.unusualRuns(smallest));
  pushAll(runs, await runner.empty(smallest));
  return { runs, notices: runner.notices, smallest };
}

/** Sizes may be given for many models at once: those of other models' symbols say nothing here. */
function sizesOfInputs(model: Model, { sizes, inputsFlag }: PlanOptions): PlanOptions["sizes"] {
  const symbols = inputSymbols(model, inputsFlag);
  return Object.fromEntries(Object.entries(sizes).filter(([name]) => symbols.includes(name)));
}

function smallestOf(runs: readonly Run[]): Run | undefined {
  const volume = ({ draw }: Run) => Object.values(draw.sizes).reduce((total, size) => total * size, 1);
  return runs.toSorted((a, b) => volume(a) - volume(b))[0];
}

class Runner {
  readonly notices: string[] = [];
  readonly #session: Session;
  readonly #model: Model;
  readonly #isNarrow: boolean;
  readonly #options: ThoroughOptions;

  constructor(session: Session, model: Model, isNarrow: boolean, options: ThoroughOptions) {
    this.#session = session;
    this.#model = model;
    this.#isNarrow = isNarrow;
    this.#options = options;
  }

  /** Another size of every symbol that ran at one only: of all at once, else one by one. */
  async atOtherSizes(ran: readonly Run[]): Promise<Run[]> {
    const [base] = ran;
    if (base === undefined) return [];
    const sizes = new Map(Object.entries(base.draw.sizes));
    const mayVary = (name: string) => this.#mayVary(name);
    const single = inputSymbols(this.#model).filter(
      (name) => mayVary(name) && new Set(ran.map(({ draw }) => own(draw.sizes, name))).size === 1,
    );
    if (single.length === 0) return [];
    const together = await this.#firstThatRuns(changedSizes(this.#model, single, sizes, mayVary));
    if (!(together instanceof InputError)) return [together];
    const runs: Run[] = [];
    for (const name of single) {
      const changed = changedSizes(this.#model, [name], sizes, mayVary);
      const run = single.length === 1 ? together : await this.#firstThatRuns(changed);
      if (!(run instanceof InputError)) runs.push(run);
      else
        this.notices.push(
          `compared at ${name}=${sizes.get(name)} only: other sizes do not run (${run.message})`,
        );
    }
    return runs;
  }

  async unusualRuns(place: Place): Promise<Run[]> {
    const runs: Run[] = [];
    for (const { kind, seed } of unusualDraws(this.#model, place.sizes, this.#options.budget)) {
      // Where one infinity leaves no number, a NaN tells nothing more.
      const isKnown = kind === "nan" && runs.some(({ expected }) => !hasNumbers(expected));
      if (!isKnown) pushAll(runs, await this.#unusually({ kind, seed, ...place }));
    }
    return runs;
  }

  /** Nothing where the original does not take such inputs. */
  async #unusually(draw: Draw): Promise<Run[]> {
    const run = await attempt(() => runDraw(this.#session, this.#model, draw, this.#options));
    if (!(run instanceof InputError)) {
      return [{ ...run, isUnusual: true, mayBeInfinite: mayBeInfinite.has(draw.kind) }];
    }
    this.notices.push(`no inputs of the kind "${draw.kind}": the original does not run on them`);
    return [];
  }

  async empty({ sizes }: Place): Promise<Run[]> {
    const batches = batchSymbols(this.#model).filter((name) => this.#mayVary(name));
    if (batches.length === 0 || !this.#options.emptyBatch) return [];
    const none = new Map([...sizes].map(([name, size]) => [name, batches.includes(name) ? 0 : size]));
    this.#options.onProgress(doings.originalEmpty);
    const run = await attempt(() =>
      runDraw(
        this.#session,
        this.#model,
        { kind: "normal", seed: 1, sizes: none, isNarrow: this.#isNarrow },
        { onProgress: () => {} },
      ),
    );
    if (!(run instanceof InputError)) return [run];
    const where = sizeText(Object.fromEntries(batches.map((name) => [name, 0])));
    this.notices.push(`not compared at ${where}: the original does not run there`);
    return [];
  }

  #mayVary(symbol: string): boolean {
    return this.#options.otherSizes || own(this.#options.sizes, symbol) === undefined;
  }

  async #firstThatRuns(attempts: readonly Bindings[]): Promise<Run | InputError> {
    let refusal: InputError | undefined;
    for (const sizes of attempts) {
      const run = await this.#at(sizes);
      if (!(run instanceof InputError)) return run;
      refusal = run;
    }
    return refusal ?? new InputError("cannot-run", "there is no other size");
  }

  #at(sizes: Bindings): Promise<Run | InputError> {
    const draw = { kind: "normal", seed: 1, sizes, isNarrow: this.#isNarrow } as const;
    return attempt(() => runDraw(this.#session, this.#model, draw, this.#options));
  }
}

function hasNumbers(outputs: Tensors): boolean {
  return [...outputs.values()].some(
    (tensor) => !isFloatTensor(tensor) || Array.from(numbersOf(tensor)).some(Number.isFinite),
  );
}
