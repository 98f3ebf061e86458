/**
 * @file In the GPU's process: the kernels of a plan chosen by measurement. Steps that have a choice are timed in the ways that are
 * predicted to be fast, the model is planned again with what won, and the whole decides whether that is kept.
 */

import { results } from "../../../cuda-runtime/driver/calls.ts";
import type { DeviceContext } from "../../../cuda-runtime/driver/context.ts";
import { CudaError } from "../../../cuda-runtime/driver/errors.ts";
import type { Chooser } from "../../../cuda-runtime/ir/question.ts";
import { emittedAlone, type StepsAlone } from "../../../cuda-runtime/plan/alone.ts";
import { AlternativeTimer } from "../../../cuda-runtime/session/alternatives.ts";
import { lockOfGpu } from "../../../cuda-runtime/session/cubin-folder.ts";
import { exclusively } from "../../../cuda-runtime/session/exclusive.ts";
import { DeviceSession, type PortBytes } from "../../../cuda-runtime/session/session.ts";
import type { KernelStore } from "../../../cuda-runtime/session/store.ts";
import { timeInTurns } from "../../../cuda-runtime/session/timing.ts";
import { machineOfDevice } from "../../hardware/machine.ts";
import type { Planned } from "../plan.ts";
import { differenceOfTurns, gains, medianOf } from "../prove/judge.ts";
import { contendersOf, winnerOf } from "./contest.ts";
import { type Asked, MeasuredChoices, QuestionRecorder, type Way } from "./recorder.ts";
import type { AutotuneReport, TunedStep, TunedWay } from "./report.ts";
import { type Verdict, Verdicts } from "./verdicts.ts";

export interface Tuning<Own extends Planned> {
  readonly context: DeviceContext;
  readonly store: KernelStore;
  readonly tf32: boolean;
  readonly seconds: number;
  /** The model at its sizes. */
  readonly plan: (chooser: Chooser) => Own;
  /** What whole runs are timed on. */
  readonly inputsOf: (planned: Own) => PortBytes;
  readonly onProgress: (what: string) => void;
}

export interface Tuned<Own extends Planned> {
  readonly planned: Own;
  readonly report: AutotuneReport;
}

interface Contest {
  readonly asked: Asked;
  readonly contenders: readonly Way[];
  readonly verdict: Verdict;
}

/** Throws CudaError, and what planning throws. */
export function autotune<Own extends Planned>(tuning: Tuning<Own>): Tuned<Own> {
  return new Autotuner(tuning).run();
}

class Autotuner<Own extends Planned> {
  readonly #tuning: Tuning<Own>;
  readonly #verdicts: Verdicts;
  readonly #start = performance.now();
  #measured = 0;
  #known = 0;
  #left = 0;

  constructor(tuning: Tuning<Own>) {
    this.#tuning = tuning;
    this.#verdicts = new Verdicts(tuning.context, tuning.store);
  }

  run(): Tuned<Own> {
    const recorder = new QuestionRecorder();
    const predicted = this.#tuning.plan(recorder);
    if (predicted.staged !== undefined)
      return {
        planned: predicted,
        report: this.#report(0, [], null, false, "data decides what runs: it is planned step by step"),
      };
    const { asked } = recorder;
    const contests = this.#contests(asked);
    const changed = contests.filter(({ verdict }) => verdict.winner > 0);
    const names = new Map(
      contests.map(({ asked: { key }, contenders, verdict }) => [
        key,
        contenders[verdict.winner]?.name ?? "",
      ]),
    );
    const tuned = this.#tuning.plan(new MeasuredChoices(names));
    if (changed.length === 0)
      return { planned: tuned, report: this.#report(asked.length, [], null, true, null) };
    const microseconds = this.#asWhole(predicted, tuned);
    const kept = gains(microseconds);
    const report = this.#report(asked.length, changed, microseconds, kept, null);
    return { planned: kept ? tuned : predicted, report };
  }

  #contests(asked: readonly Asked[]): Contest[] {
    const { context, store, onProgress } = this.#tuning;
    using timer = new AlternativeTimer(context, store);
    return asked.flatMap((own, index): Contest[] => {
      const contenders = contendersOf(own.ways);
      if (contenders.length < 2) return [];
      const alone = contenders.map((way) => this.#alone(own, way));
      // What depends on weights alone takes no time of a run.
      if (alone.some(({ steps }) => steps.length === 0)) return [];
      onProgress(`timing the kernels of kind ${index + 1} of ${asked.length}`);
      const verdict = this.#verdictOn(alone, contenders[0]?.microseconds ?? 1, timer);
      return verdict === undefined ? [] : [{ asked: own, contenders, verdict }];
    });
  }

  #alone({ isConstant }: Asked, way: Way): StepsAlone {
    const { context, tf32 } = this.#tuning;
    const target = machineOfDevice(context.device);
    return emittedAlone((emitter) => way.emit(emitter), { target, tf32, isConstant });
  }

  /** Undefined where there is no time left, or no memory. */
  #verdictOn(
    alone: readonly StepsAlone[],
    microseconds: number,
    timer: AlternativeTimer,
  ): Verdict | undefined {
    const key = this.#verdicts.keyOf(alone);
    const known = this.#verdicts.read(key, alone.length);
    if (known !== undefined) {
      this.#known += 1;
      return known;
    }
    const turns = this.#isLate() ? undefined : this.#turns(alone, microseconds, timer);
    if (turns === undefined) {
      this.#left += 1;
      return undefined;
    }
    const verdict = { winner: winnerOf(turns), microseconds: turns.map(medianOf) };
    this.#verdicts.write(key, verdict);
    this.#measured += 1;
    return verdict;
  }

  #turns(
    alone: readonly StepsAlone[],
    microseconds: number,
    timer: AlternativeTimer,
  ): number[][] | undefined {
    try {
      return exclusively(this.#lock(), () => timer.inTurns(alone, microseconds));
    } catch (error) {
      // Of a step that fits once: prediction has to do.
      if (error instanceof CudaError && error.code === results.outOfMemory) return undefined;
      throw error;
    }
  }

  #isLate(): boolean {
    return performance.now() - this.#start > 1000 * this.#tuning.seconds;
  }

  #lock(): string | undefined {
    return lockOfGpu(this.#tuning.context.device.index);
  }

  #asWhole(predicted: Own, tuned: Own) {
    this.#tuning.onProgress("timing whole runs, as predicted and as measured");
    return exclusively(this.#lock(), () => {
      using first = this.#session(predicted);
      using second = this.#session(tuned);
      const [before = [], after = []] = timeInTurns([first, second]);
      return differenceOfTurns(before, after);
    });
  }

  #session(planned: Own): DeviceSession {
    const { context, store, inputsOf } = this.#tuning;
    const session = DeviceSession.load(context, store, planned.plan);
    try {
      session.writeInputs(inputsOf(planned));
      return session;
    } catch (error) {
      session[Symbol.dispose]();
      throw error;
    }
  }

  #report(
    kinds: number,
    changed: readonly Contest[],
    microseconds: AutotuneReport["microseconds"],
    kept: boolean,
    refused: string | null,
  ): AutotuneReport {
    return {
      kinds,
      measured: this.#measured,
      known: this.#known,
      left: this.#left,
      seconds: (performance.now() - this.#start) / 1000,
      changed: changed.map(tunedStep).sort((a, b) => gainOf(b) - gainOf(a)),
      microseconds,
      kept,
      refused,
    };
  }
}

function tunedStep({ asked, contenders, verdict }: Contest): TunedStep {
  const way = (index: number): TunedWay => ({
    what: contenders[index]?.name ?? "",
    predictedMicroseconds: contenders[index]?.microseconds ?? Number.NaN,
    measuredMicroseconds: verdict.microseconds[index] ?? Number.NaN,
  });
  const { operator, places } = asked;
  return {
    operator,
    places: places.length,
    label: places[0] ?? "",
    predicted: way(0),
    chosen: way(verdict.winner),
  };
}

function gainOf({ places, predicted, chosen }: TunedStep): number {
  return places * (predicted.measuredMicroseconds - chosen.measuredMicroseconds);
}
