/**
 * @file Several ways to compute the same, timed in turns, each as a model would run it: launches one behind another in a graph, weights
 * that have left the L2 (each launch reads another copy of them), activations that are still in it.
 */
import { maxOf, minOf } from "../../src/ir/lists.ts";
import type { DeviceContext } from "../driver/context.ts";
import { Owned } from "../driver/owned.ts";
import { type Graph, Stream, StreamClock } from "../driver/stream.ts";
import type { StepsAlone } from "../plan/alone.ts";
import { AlternativeMemory, RandomContent } from "./alternative-memory.ts";
import { StepRunner } from "./steps.ts";
import type { KernelStore } from "./store.ts";
import { Transfer } from "./transfer.ts";

/** Of a graph, so that the events' resolution is no matter; and the most launches in one. */
const graphMicroseconds = 150;
const mostCopies = 64;
const warmups = 2;
/** Turns in which all take part, and those of the ones that are left. */
const firstTurns = 3;
const allTurns = 15;
/** What takes longer than the best by this factor after the first turns is out. */
const outFactor = 1.15;
const transferBytes = 2 ** 20;

export class AlternativeTimer implements Disposable {
  readonly #context: DeviceContext;
  readonly #owned = new Owned();
  readonly #stream: Stream;
  readonly #transfer: Transfer;
  readonly #runner: StepRunner;
  readonly #content: RandomContent;

  constructor(context: DeviceContext, store: KernelStore) {
    this.#context = context;
    this.#stream = this.#owned.use(new Stream(context.driver));
    this.#transfer = this.#owned.use(new Transfer(context.driver, this.#stream, transferBytes));
    this.#runner = this.#owned.use(new StepRunner(context, store));
    this.#content = this.#owned.use(new RandomContent(context, this.#stream, this.#transfer));
  }

  /**
   * Microseconds of one pass through an alternative's steps, by turn; the first alternative is there in every turn, others leave once
   * they are clearly slower. `microseconds` is about what one takes. Throws CudaError.
   */
  inTurns(alternatives: readonly StepsAlone[], microseconds: number): number[][] {
    using owned = new Owned();
    const memory = owned.use(new AlternativeMemory(this.#context, this.#content));
    const tools = { stream: this.#stream, transfer: this.#transfer, runner: this.#runner };
    const sets = alternatives.map((alternative) => memory.setsOf(alternative, tools));
    const most = maxOf(sets.map(({ length }) => length));
    const wanted = Math.max(most, Math.ceil(graphMicroseconds / Math.max(1, microseconds)));
    const copies = Math.min(mostCopies, wanted);
    const graphs = sets.map((ready) =>
      owned.use(
        this.#stream.capture(() => {
          for (let copy = 0; copy < copies; copy++)
            for (const step of ready[copy % ready.length] ?? []) this.#runner.launch(step, this.#stream);
        }),
      ),
    );
    return this.#turns(graphs).map((times) => times.map((time) => time / copies));
  }

  #turns(graphs: readonly Graph[]): number[][] {
    using clock = new StreamClock(this.#context.driver, this.#stream);
    const replay = (graph: Graph) => clock.microsecondsOf(() => graph.launch(this.#stream));
    for (const graph of graphs) for (let warmup = 0; warmup < warmups; warmup++) replay(graph);
    const times = graphs.map((): number[] => []);
    let isIn = graphs.map(() => true);
    for (let turn = 0; turn < allTurns; turn++) {
      for (const [index, graph] of graphs.entries()) if (isIn[index]) times[index]?.push(replay(graph));
      if (turn + 1 === firstTurns) isIn = stillIn(times);
    }
    return times;
  }

  [Symbol.dispose](): void {
    this.#owned[Symbol.dispose]();
  }
}

function stillIn(times: readonly (readonly number[])[]): boolean[] {
  const least = times.map((own) => minOf(own));
  const best = minOf(least);
  return least.map((own, index) => index === 0 || own <= outFactor * best);
}
