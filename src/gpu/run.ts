/** @file In the GPU's process: models planned, loaded, run and timed. */
import type { DeviceContext } from "../../cuda-runtime/driver/context.ts";
import type { Chooser } from "../../cuda-runtime/ir/question.ts";
import type { Plan } from "../../cuda-runtime/ir/step.ts";
import { isStorageType, type StorageType } from "../../cuda-runtime/ir/storage.ts";
import type { HostPart, Part } from "../../cuda-runtime/plan/foresee.ts";
import { lockOfGpu } from "../../cuda-runtime/session/cubin-folder.ts";
import { exclusively } from "../../cuda-runtime/session/exclusive.ts";
import { openDevice } from "../../cuda-runtime/session/open.ts";
import { type OutputBytes, ProgramSession } from "../../cuda-runtime/session/program-device.ts";
import { timeHost, timeProgram } from "../../cuda-runtime/session/program-timing.ts";
import { DeviceSession } from "../../cuda-runtime/session/session.ts";
import { KernelManifest, KernelStore } from "../../cuda-runtime/session/store.ts";
import { type Times, timeRuns, timeSteps } from "../../cuda-runtime/session/timing.ts";
import { machineOfDevice } from "../hardware/machine.ts";
import { InputError } from "../ir/errors.ts";
import type { Node } from "../ir/model.ts";
import type { OpenModel } from "../onnx/open.ts";
import { arrays, convert, type Tensor, type Tensors } from "../verify/tensor.ts";
import { autotune } from "./autotune/autotune.ts";
import type { AutotuneReport } from "./autotune/report.ts";
import { describedHost, describedStep } from "./describe.ts";
import {
  asInputError,
  drawPlanned,
  type Planned,
  planFor,
  planSizes,
  type StagedPlan,
  sizesOf,
} from "./plan.ts";
import { type FixSettingsOf, prepareModel } from "./prepare.ts";
import type { GpuTask, ModelRun, RunReport, RunsReport, StepReport } from "./protocol.ts";

export type Progress = (what: string) => void;

/** Throws InputError `gpu-…`, or what the models are at fault for. */
export async function runModels(
  task: Extract<GpuTask, { kind: "run" }>,
  fixSettingsOf: FixSettingsOf,
  onProgress: Progress,
): Promise<RunsReport> {
  onProgress("opening the GPU");
  using context = await openDevice(task.device);
  const kernels = new URL(task.kernels);
  using store = new KernelStore(context, { kernels });
  const { device, driver } = context;
  const machine: Machine = { context, store, kernels };
  const runs = task.runs.map((run) => new ModelRunner(machine, run, fixSettingsOf, onProgress).run());
  const { cacheProblem } = store;
  return { kind: "run", device, driverVersion: driver.version, runs, cacheProblem };
}

/** Where models run. */
interface Machine {
  readonly context: DeviceContext;
  readonly store: KernelStore;
  readonly kernels: URL;
}

class ModelRunner {
  readonly #context: DeviceContext;
  readonly #store: KernelStore;
  readonly #kernels: URL;
  readonly #run: ModelRun;
  readonly #fixSettingsOf: FixSettingsOf;
  readonly #say: Progress;
  readonly #seconds = { open: 0, plan: 0, load: 0, run: 0 };

  constructor(
    { context, store, kernels }: Machine,
    run: ModelRun,
    fixSettingsOf: FixSettingsOf,
    onProgress: Progress,
  ) {
    this.#kernels = kernels;
    this.#fixSettingsOf = fixSettingsOf;
    this.#context = context;
    this.#store = store;
    this.#run = run;
    this.#say = (what) => onProgress(`${run.label}: ${what}`);
  }

  run(): RunReport {
    const { compiled } = this.#store;
    const { model: request, inputs } = this.#run;
    const preparation = { fixSettingsOf: this.#fixSettingsOf, isRun: true };
    using prepared = this.#timed("open", "reading", () => prepareModel(request, preparation));
    const { model, isFixed } = prepared;
    const planRequest = { precision: request.precision, target: machineOfDevice(this.#context.device) };
    if (inputs.kind === "drawn") {
      const limits = { memoryBytes: this.#context.memory().freeBytes };
      const first = this.#timed("plan", "planning", () =>
        planSizes(model, inputs.sizes, planRequest, limits),
      );
      const drawn = this.#timed("run", "drawing inputs", () => drawPlanned(model, first));
      const same = Object.fromEntries([...first.sizes].map(([name, size]) => [name, [size]]));
      const { planned, autotune } = this.#tuned(first, drawn, (chooser) =>
        planSizes(model, same, { ...planRequest, chooser }, limits),
      );
      const report = this.#runPlanned(model, planned, [drawn]);
      const { compiled: all } = this.#store;
      return { ...report, isFixed, autotune, sizes: sizesOf(planned.sizes), compiled: all - compiled };
    }
    const reports = this.#groups(model, inputs.sets).map(({ planned: predicted, sets }) => {
      const [set = new Map()] = sets;
      const again = (chooser: Chooser) => planFor(model, set, { ...planRequest, chooser });
      const { planned, autotune } = this.#tuned(predicted, set, again);
      return { ...this.#runPlanned(model, planned, sets), autotune };
    });
    const [first] = reports;
    if (first === undefined)
      throw new InputError("cannot-run", `${model.path}: there is nothing to run it on`);
    const outputs = reports.flatMap((report) => report.outputs);
    return { ...first, isFixed, outputs, sizes: {}, compiled: this.#store.compiled - compiled };
  }

  /** With kernels chosen by measurement, where the run asks for it. */
  #tuned<Own extends Planned>(
    predicted: Own,
    inputs: Tensors,
    plan: (chooser: Chooser) => Own,
  ): { readonly planned: Own; readonly autotune: AutotuneReport | undefined } {
    const { autotuneSeconds: seconds, model } = this.#run;
    if (seconds === undefined) return { planned: predicted, autotune: undefined };
    const { planned, report } = autotune({
      context: this.#context,
      store: this.#store,
      tf32: model.precision === "tf32",
      seconds,
      plan,
      inputsOf: (own) => bytesOf(own.plan, inputs),
      onProgress: this.#say,
    });
    return { planned, autotune: report };
  }

  /** Sets of inputs that share a plan, in order. */
  #groups(model: OpenModel, sets: readonly Tensors[]): { planned: Planned; sets: Tensors[] }[] {
    const planRequest = {
      precision: this.#run.model.precision,
      target: machineOfDevice(this.#context.device),
    };
    const groups: { key: string; planned: Planned; sets: Tensors[] }[] = [];
    for (const set of sets) {
      const key = [...set].map(([name, { dims }]) => `${name} ${dims.join(",")}`).join(";");
      const last = groups.at(-1);
      if (last !== undefined && last.key === key) {
        last.sets.push(set);
        continue;
      }
      const planned = this.#timed("plan", "planning", () => planFor(model, set, planRequest));
      // A plan for known elements is for this set alone.
      groups.push({ key: planned.known.length > 0 ? "" : key, planned, sets: [set] });
    }
    return groups;
  }

  #runPlanned(
    model: OpenModel,
    { plan, staged }: Planned,
    sets: readonly Tensors[],
  ): Omit<RunReport, "sizes" | "compiled" | "isFixed"> {
    if (staged === undefined) return this.#runPlan(plan, sets);
    try {
      return this.#runStaged(staged, sets);
    } catch (error) {
      throw asInputError(model, error);
    }
  }

  /** Plans what data decides as it goes: that is in the first run. */
  #runStaged(
    { program, parts }: StagedPlan,
    sets: readonly Tensors[],
  ): Omit<RunReport, "sizes" | "compiled" | "isFixed"> {
    using session = new ProgramSession(this.#context, this.#store, program, { poison: true });
    const ports = [...program.entering].flatMap(
      ([
        { name },
        {
          fact: { dtype },
        },
      ]) => (isStorageType(dtype) ? [{ name, type: dtype }] : []),
    );
    const outputs = sets.map((set) =>
      this.#timed("run", "running", () => stagedTensors(session.run(bytesOfPorts(ports, set)))),
    );
    const { time, steps } = this.#run;
    const [first] = sets;
    if ((time !== undefined || steps === true) && first !== undefined)
      session.run(bytesOfPorts(ports, first));
    const sessions = session.sessionsOfRun();
    const timed = () => this.#timed("run", "timing", () => this.#alone(() => timeProgram(session, time)));
    const host = (): StepReport[] =>
      timeHost(session).map(({ node, times }) => hostReport(node, times, parts));
    return {
      outputs,
      launches: sessions.reduce((total, own) => total + own.plan.steps.length, 0),
      memory: session.memory,
      times: time === undefined ? undefined : timed(),
      steps:
        steps === true
          ? this.#alone(() => [...sessions.flatMap((own) => this.#stepReports(own, own.plan)), ...host()])
          : undefined,
      seconds: this.#seconds,
    };
  }

  #runPlan(plan: Plan, sets: readonly Tensors[]): Omit<RunReport, "sizes" | "compiled" | "isFixed"> {
    const options = { poison: true };
    using session = this.#timed("load", "uploading weights and compiling", () =>
      DeviceSession.load(this.#context, this.#store, plan, options),
    );
    const outputs = sets.map((set) => this.#timed("run", "running", () => outputsOf(session, plan, set)));
    const { time, steps } = this.#run;
    const [first] = sets;
    if (time !== undefined && first !== undefined) session.writeInputs(bytesOf(plan, first));
    return {
      outputs,
      launches: plan.steps.length,
      memory: session.memory,
      times:
        time === undefined
          ? undefined
          : this.#timed("run", "timing", () => this.#alone(() => timeRuns(session, time))),
      steps: steps === true ? this.#alone(() => this.#stepReports(session, plan)) : undefined,
      seconds: this.#seconds,
    };
  }

  /** While no other measurement has the GPU. */
  #alone<Result>(work: () => Result): Result {
    return exclusively(lockOfGpu(this.#context.device.index), work);
  }

  #stepReports(session: DeviceSession, plan: Plan): StepReport[] {
    const times = timeSteps(session, (index) => {
      if (index % 32 === 0) this.#say(`timing step ${index + 1} of ${plan.steps.length}`);
    });
    const { device } = this.#context;
    const manifest = new KernelManifest(this.#kernels, device.computeCapability);
    const target = machineOfDevice(device);
    return plan.steps.flatMap((step, index) => {
      const own = times[index];
      return own === undefined ? [] : [{ ...describedStep(step, manifest, target), times: own }];
    });
  }

  #timed<Result>(phase: keyof RunReport["seconds"], what: string, work: () => Result): Result {
    this.#say(what);
    const start = performance.now();
    try {
      return work();
    } finally {
      this.#seconds[phase] += (performance.now() - start) / 1000;
    }
  }
}

function outputsOf(session: DeviceSession, plan: Plan, inputs: Tensors): Tensors {
  return tensorsOf(plan, session.run(bytesOf(plan, inputs)));
}

/** Of the outputs that there are bytes of. */
export function tensorsOf(plan: Plan, bytes: ReadonlyMap<string, Uint8Array>): Tensors {
  return new Map(
    plan.outputs.flatMap(({ name, view: { type, shape } }): [string, Tensor][] => {
      const own = bytes.get(name);
      if (own === undefined) return [];
      return [[name, { dtype: type, dims: shape, data: new arrays[type](own.slice().buffer) }]];
    }),
  );
}

/** What the host took, beside what was predicted of it. */
function hostReport(node: Node, times: Times, parts: readonly Part[]): StepReport {
  const part = parts.find((own): own is HostPart => own.kind === "host" && own.node === node);
  const unforeseen = { kind: "host", node, detail: "", bytes: 0, predictedMicroseconds: 0 } as const;
  return { ...describedHost(part ?? unforeseen), times };
}

function stagedTensors(outputs: ReadonlyMap<string, OutputBytes>): Tensors {
  return new Map(
    [...outputs].map(([name, { type, shape, bytes }]): [string, Tensor] => [
      name,
      { dtype: type, dims: shape, data: new arrays[type](bytes.slice().buffer) },
    ]),
  );
}

/** `some`: not all inputs have to be given. */
export function bytesOf(plan: Plan, inputs: Tensors, some = false): Map<string, Uint8Array> {
  const given = some ? plan.inputs.filter(({ name }) => inputs.has(name)) : plan.inputs;
  return bytesOfPorts(
    given.map(({ name, view: { type } }) => ({ name, type })),
    inputs,
  );
}

export function bytesOfPorts(
  ports: readonly { readonly name: string; readonly type: StorageType }[],
  inputs: Tensors,
): Map<string, Uint8Array> {
  return new Map(
    ports.map(({ name, type }) => {
      const tensor = inputs.get(name);
      if (tensor === undefined) throw new InputError("usage", `input "${name}" is not given`);
      const { data } = convert(tensor, type, `input "${name}"`);
      if (!ArrayBuffer.isView(data)) throw new InputError("usage", `input "${name}" is text`);
      const { buffer, byteOffset, byteLength } = data;
      return [name, new Uint8Array(buffer, byteOffset, byteLength)];
    }),
  );
}
