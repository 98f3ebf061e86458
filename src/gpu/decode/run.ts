/** @file In the GPU's process: a prompt at once, then token by token, by two plans of one model. */

import type { DeviceContext } from "../../../cuda-runtime/driver/context.ts";
import type { Plan } from "../../../cuda-runtime/ir/step.ts";
import { lockOfGpu } from "../../../cuda-runtime/session/cubin-folder.ts";
import { exclusively } from "../../../cuda-runtime/session/exclusive.ts";
import { openDevice } from "../../../cuda-runtime/session/open.ts";
import { DeviceSession } from "../../../cuda-runtime/session/session.ts";
import { KernelStore } from "../../../cuda-runtime/session/store.ts";
import { timeRuns } from "../../../cuda-runtime/session/timing.ts";
import { machineOfDevice } from "../../hardware/machine.ts";
import { InputError } from "../../ir/errors.ts";
import type { OpenModel } from "../../onnx/open.ts";
import { type Feeds, fixedFeeds } from "../../verify/decode/feeds.ts";
import { lastScores, likeliest } from "../../verify/decode/greedy.ts";
import { type DecoderPorts, decoderPorts } from "../../verify/decode/ports.ts";
import type { Tensors } from "../../verify/tensor.ts";
import { planFor } from "../plan.ts";
import { type FixSettingsOf, prepareModel } from "../prepare.ts";
import type { DecodePhase, DecodeRun, DecodeTask } from "../protocol.ts";
import { bytesOf, type Progress, tensorsOf } from "../run.ts";
import { weightBytesOf } from "./weight-bytes.ts";

/** Throws InputError `gpu-…`, or what the model is at fault for. */
export async function runDecode(
  task: DecodeTask,
  fixSettingsOf: FixSettingsOf,
  onProgress: Progress,
): Promise<DecodeRun> {
  onProgress("opening the GPU");
  using context = await openDevice(task.device);
  using store = new KernelStore(context, { kernels: new URL(task.kernels) });
  using prepared = prepareModel(
    { path: task.path, precision: task.precision },
    { fixSettingsOf, isRun: true },
  );
  const decoder = new DeviceDecoder(context, store, prepared.model, task, onProgress);
  return decoder.run();
}

class DeviceDecoder {
  readonly #context: DeviceContext;
  readonly #store: KernelStore;
  readonly #model: OpenModel;
  readonly #task: DecodeTask;
  readonly #say: Progress;
  readonly #ports: DecoderPorts;
  readonly #feeds: Feeds;
  readonly #scores: Float32Array[] = [];

  constructor(
    context: DeviceContext,
    store: KernelStore,
    model: OpenModel,
    task: DecodeTask,
    onProgress: Progress,
  ) {
    this.#context = context;
    this.#store = store;
    this.#model = model;
    this.#task = task;
    this.#say = onProgress;
    this.#ports = decoderPorts(model);
    this.#feeds = fixedFeeds(this.#ports, task.prompt.length + task.tokens.length);
  }

  run(): DecodeRun {
    const { prompt, tokens } = this.#task;
    const [prefill, outputs] = this.#prefill(this.#feeds.prompt(prompt));
    this.#scores.push(lastScores(outputs.get(this.#ports.logits)));
    const caches = this.#feeds.caches(outputs, prompt.length);
    const first = new Map([...this.#feeds.next(tokens[0] ?? 0, prompt.length), ...caches]);
    const plan = this.#planned("a step", first);
    const isInPlace = this.#isInPlace(plan);
    const step = this.#decode(plan, first, isInPlace);
    const { device, driver } = this.#context;
    return {
      kind: "decode",
      device,
      driverVersion: driver.version,
      tokens: this.#scores.map(likeliest),
      scores: this.#scores,
      prefill,
      step,
      isInPlace,
      cacheProblem: this.#store.cacheProblem,
    };
  }

  #planned(what: string, inputs: Tensors): Plan {
    this.#say(`planning ${what}`);
    const { precision } = this.#task;
    const target = machineOfDevice(this.#context.device);
    const { plan, staged } = planFor(this.#model, inputs, { precision, target, shareCaches: true });
    if (staged === undefined) return plan;
    throw new InputError(
      "gpu-unsupported",
      `${this.#model.path}: data decides what runs, and tokens are decoded with models that are one graph`,
    );
  }

  /** The memory of its weights is given back before the steps' plan is loaded. */
  #prefill(inputs: Tensors): readonly [DecodePhase, Tensors] {
    const plan = this.#planned("the prompt", inputs);
    using session = this.#loaded("the prompt", plan);
    const outputs = tensorsOf(plan, session.run(bytesOf(plan, inputs)));
    return [this.#phase(session), outputs];
  }

  #decode(plan: Plan, first: Tensors, isInPlace: boolean): DecodePhase {
    const { prompt, tokens } = this.#task;
    using session = this.#loaded("steps", plan);
    session.writeInputs(bytesOf(plan, first));
    const wanted = isInPlace ? new Set([this.#ports.logits]) : undefined;
    for (let at = 0; at < tokens.length - 1; at++) {
      this.#say(`token ${at + 2} of ${tokens.length}`);
      const seen = prompt.length + at;
      if (at > 0) session.updateInputs(bytesOf(plan, this.#feeds.next(tokens[at] ?? 0, seen), true));
      session.launch();
      session.synchronize();
      const outputs = tensorsOf(plan, session.readOutputs(wanted));
      this.#scores.push(lastScores(outputs.get(this.#ports.logits)));
      if (!isInPlace) session.updateInputs(bytesOf(plan, this.#feeds.caches(outputs, seen), true));
    }
    return this.#phase(session);
  }

  #isInPlace({ inputs, outputs }: Plan): boolean {
    const viewOf = (ports: Plan["inputs"], port: string) => ports.find(({ name }) => name === port)?.view;
    return this.#ports.caches.every(({ past, present }) => {
      const [from, to] = [viewOf(inputs, past), viewOf(outputs, present)];
      return from !== undefined && from.buffer === to?.buffer;
    });
  }

  #loaded(what: string, plan: Plan): DeviceSession {
    this.#say(`uploading weights for ${what}`);
    return DeviceSession.load(this.#context, this.#store, plan, { poison: true });
  }

  #phase(session: DeviceSession): DecodePhase {
    const { plan, memory } = session;
    this.#say("timing");
    const times = exclusively(lockOfGpu(this.#context.device.index), () =>
      timeRuns(session, this.#task.time),
    );
    return { times, launches: plan.steps.length, memory, weightBytes: weightBytesOf(plan) };
  }
}
