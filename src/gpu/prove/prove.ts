/**
 * @file In the GPU's process: a repair measured change by change. Every state of the model (as exported, repaired, repaired but for
 * one change) is planned; steps that two states share cost the same in both, so that what a change does is the time of the others.
 * What gains nothing beyond noise is left, and the result is run against the original as a whole.
 */
import type { DeviceContext } from "../../../cuda-runtime/driver/context.ts";
import { lockOfGpu } from "../../../cuda-runtime/session/cubin-folder.ts";
import { exclusively } from "../../../cuda-runtime/session/exclusive.ts";
import { openDevice, versionText } from "../../../cuda-runtime/session/open.ts";
import { DeviceSession } from "../../../cuda-runtime/session/session.ts";
import { KernelStore } from "../../../cuda-runtime/session/store.ts";
import { timeInTurns } from "../../../cuda-runtime/session/timing.ts";
import { nothingBut, type Piece } from "../../fix/bisect.ts";
import type { Difference, MeasuredChange, Measurement } from "../../fix/measured.ts";
import type { FixSettings } from "../../fix/pipeline.ts";
import { runStages } from "../../fix/stages.ts";
import { machineOfDevice } from "../../hardware/machine.ts";
import { InputError } from "../../ir/errors.ts";
import { duration } from "../../ir/format.ts";
import { type OpenModel, openModel } from "../../onnx/open.ts";
import { drawPlanned, type PlannedSizes, planSizes, sizesOf } from "../plan.ts";
import { missingWeights } from "../prepare.ts";
import type { ProveReport, ProveTask } from "../protocol.ts";
import type { Progress } from "../run.ts";
import { bytesOf } from "../run.ts";
import { type Change, changesOf } from "./changes.ts";
import { differenceOfSteps, differenceOfTurns, gains, loses, type StepTime } from "./judge.ts";
import { StepTimes } from "./step-times.ts";

/** Throws InputError `gpu-…`, or what the model is at fault for. */
export async function proveFix(
  task: ProveTask,
  settings: FixSettings,
  onProgress: Progress,
): Promise<ProveReport> {
  onProgress("opening the GPU");
  using context = await openDevice(task.device);
  using store = new KernelStore(context, { kernels: new URL(task.kernels) });
  using original = openModel(task.plan.path);
  const absent = missingWeights(original);
  if (absent !== undefined) throw absent;
  return new Prover(context, store, original, task, settings, onProgress).prove();
}

/** A state of the model, planned. */
interface Measured {
  readonly model: OpenModel;
  readonly planned: PlannedSizes;
  readonly steps: readonly StepTime[];
}

interface Judged {
  readonly change: Change;
  readonly microseconds: Difference;
}

class Prover {
  readonly #context: DeviceContext;
  readonly #store: KernelStore;
  readonly #original: OpenModel;
  readonly #task: ProveTask;
  readonly #settings: FixSettings;
  readonly #say: Progress;
  readonly #times: StepTimes;
  readonly #lock: string | undefined;

  constructor(
    context: DeviceContext,
    store: KernelStore,
    original: OpenModel,
    task: ProveTask,
    settings: FixSettings,
    onProgress: Progress,
  ) {
    this.#context = context;
    this.#store = store;
    this.#original = original;
    this.#task = task;
    this.#settings = settings;
    this.#say = onProgress;
    this.#times = new StepTimes(context, store);
    this.#lock = lockOfGpu(task.device);
  }

  prove(): ProveReport {
    const { fixed } = runStages(this.#original, this.#settings);
    const changes = changesOf(fixed, this.#task.choice);
    const before = this.#measured(this.#original, "as exported");
    const whole = this.#measured(fixed.model, "repaired");
    const judged = changes.map((change, index): Judged => {
      const what = `without change ${index + 1} of ${changes.length}`;
      const others = changes.filter((other) => other !== change);
      const without = others.length === 0 ? before : this.#measured(this.#withOnly(others), what);
      return { change, microseconds: differenceOfSteps(without.steps, whole.steps) };
    });
    const gaining = judged.filter(({ change, microseconds }) => change.isAsked || gains(microseconds));
    // Changes that need each other gain together and not alone.
    const isJoint = gaining.length === 0 && gains(differenceOfSteps(before.steps, whole.steps));
    const kept = isJoint ? judged : gaining;
    return this.#reportOf(before, judged, this.#asWhole(before, whole, judged, kept));
  }

  /** What is left of `kept` once it was run as a whole. */
  #asWhole(
    before: Measured,
    whole: Measured,
    judged: readonly Judged[],
    kept: readonly Judged[],
  ): Pick<Outcome, "kept" | "microseconds" | "slowerAsWhole"> {
    if (kept.length > 0) {
      const all = kept.length === judged.length;
      const result = all ? whole : this.#measured(this.#withOnly(kept.map(({ change }) => change)), "kept");
      const microseconds = this.#inTurns(before, result);
      const asked = kept.filter(({ change }) => change.isAsked);
      if (!loses(microseconds) || asked.length === kept.length)
        return { kept, microseconds, slowerAsWhole: null };
      const rest =
        asked.length === 0
          ? before
          : this.#measured(this.#withOnly(asked.map(({ change }) => change)), "asked for");
      return { kept: asked, microseconds: this.#inTurns(before, rest), slowerAsWhole: microseconds };
    }
    return { kept, microseconds: this.#inTurns(before, before), slowerAsWhole: null };
  }

  #withOnly(changes: readonly Change[]): OpenModel {
    const kept: Piece[] = changes.flatMap(({ pieces }) => pieces);
    return runStages(this.#original, { ...this.#settings, leaveOut: nothingBut(kept, []) }).fixed.model;
  }

  #measured(model: OpenModel, what: string): Measured {
    this.#say(`measuring ${what}`);
    const { precision, sizes } = this.#task;
    const request = { precision, target: machineOfDevice(this.#context.device) };
    const limits = { memoryBytes: this.#context.memory().freeBytes };
    const planned = planSizes(model, sizes, request, limits);
    if (planned.staged !== undefined)
      throw new InputError(
        "gpu-unsupported",
        `${model.path}: data decides what runs, and changes are proven of models that are one graph`,
      );
    const steps = this.#times.of(planned.plan, (measure) =>
      this.#alone(() => {
        using session = this.#session(model, planned);
        measure(session);
      }),
    );
    return { model, planned, steps };
  }

  /** Run once, so that steps find what they read. */
  #session(model: OpenModel, planned: PlannedSizes): DeviceSession {
    const session = DeviceSession.load(this.#context, this.#store, planned.plan);
    try {
      session.writeInputs(bytesOf(planned.plan, drawPlanned(model, planned)));
      session.launch();
      session.synchronize();
      return session;
    } catch (error) {
      session[Symbol.dispose]();
      throw error;
    }
  }

  #inTurns(before: Measured, after: Measured): Difference {
    this.#say("measuring whole runs");
    return this.#alone(() => {
      using first = this.#session(before.model, before.planned);
      if (before === after) {
        const [own = []] = timeInTurns([first]);
        return differenceOfTurns(own, own);
      }
      using second = this.#session(after.model, after.planned);
      const [mine = [], others = []] = timeInTurns([first, second]);
      return differenceOfTurns(mine, others);
    });
  }

  /** While no other measurement has the GPU: loading weights disturbs as much as running does. */
  #alone<Result>(work: () => Result): Result {
    return exclusively(this.#lock, work);
  }

  #reportOf(before: Measured, judged: readonly Judged[], outcome: Outcome): ProveReport {
    const { kept } = outcome;
    const left = judged.filter((each) => !kept.includes(each));
    const piecesOf = (each: readonly Judged[]) => each.flatMap(({ change }) => change.pieces);
    return {
      kind: "prove",
      measurement: this.#measurement(before, judged, outcome),
      kept: piecesOf(kept),
      left: left.flatMap(({ change, microseconds }) =>
        change.pieces.map((piece) => ({ ...piece, reason: reasonOf(microseconds, outcome) })),
      ),
      cacheProblem: this.#store.cacheProblem ?? this.#times.cacheProblem,
    };
  }

  #measurement(before: Measured, judged: readonly Judged[], outcome: Outcome): Measurement {
    const { kept, microseconds, slowerAsWhole } = outcome;
    const { device, driver } = this.#context;
    const changes = judged.map((each): MeasuredChange => {
      const { pass, what, places, isAsked } = each.change;
      const stays = isAsked && !gains(each.microseconds) ? "asked" : "kept";
      const verdict = kept.includes(each) ? stays : "reverted";
      return { pass, what, places, microseconds: each.microseconds, verdict };
    });
    return {
      gpu: device.name,
      driver: `CUDA ${versionText(driver.version)}`,
      precision: this.#task.precision,
      sizes: sizesOf(before.planned.sizes),
      microseconds,
      changes: changes.sort((a, b) => savedBy(b) - savedBy(a)),
      steps: this.#times.counts,
      slowerAsWhole,
    };
  }
}

interface Outcome {
  readonly kept: readonly Judged[];
  readonly microseconds: Difference;
  readonly slowerAsWhole: Difference | null;
}

function savedBy({ microseconds: { before, after } }: MeasuredChange): number {
  return before - after;
}

function reasonOf({ before, after, noise }: Difference, { slowerAsWhole }: Outcome): string {
  const measured = `measured ${duration(before)} without it and ${duration(after)} with it, ± ${duration(noise)}`;
  if (slowerAsWhole === null) return `no gain: ${measured}`;
  return `the whole model was slower with it: ${duration(slowerAsWhole.before)} before, ${duration(slowerAsWhole.after)} after`;
}
