/** @file Programs of elementwise chains run on the CPU: segments by `runPlan`, memory as one array of bytes. */
import { encodeValues } from "../../../cuda-runtime/ir/encode.ts";
import type { Plan, PlanPort } from "../../../cuda-runtime/ir/step.ts";
import { isStorageType } from "../../../cuda-runtime/ir/storage.ts";
import { programOf } from "../../../cuda-runtime/plan/build.ts";
import type { Segment } from "../../../cuda-runtime/plan/segment.ts";
import type { LoadedSegment, SegmentDevice } from "../../../cuda-runtime/session/held.ts";
import { bytesOfPort } from "../../../cuda-runtime/session/memory.ts";
import { decodeValues } from "../../../cuda-runtime/session/numbers.ts";
import { ProgramRunner } from "../../../cuda-runtime/session/program.ts";
import type { OpenModel } from "../../../src/onnx/open.ts";
import { weightsOf } from "../../gpu/node-tests-data.ts";
import { runPlan } from "./machine.ts";

const alignment = 16;

/** What it was asked for, in order. */
export class CpuDevice implements SegmentDevice {
  readonly log: string[] = [];
  readonly plans: Plan[] = [];
  readonly #memory = new Uint8Array(1 << 22).fill(0xff);
  #used = alignment;

  load({ plan }: Segment, bound: ReadonlyMap<PlanPort, number>): LoadedSegment {
    this.plans.push(plan);
    this.log.push("load");
    const places = new Map<PlanPort, number>();
    for (const port of [...plan.inputs, ...plan.outputs])
      places.set(port, bound.get(port) ?? this.allocate(bytesOfPort(port)));
    const addressOf = (port: PlanPort) => {
      const place = places.get(port);
      if (place === undefined) throw new Error(`${port.name} is no port`);
      return place;
    };
    return {
      addressOf,
      launch: () => {
        this.log.push("launch");
        const inputs = plan.inputs.map((port) => [
          port.name,
          Array.from(decodeValues(port.view.type, this.#bytesAt(addressOf(port), bytesOfPort(port)))),
        ]);
        const outputs = runPlan(plan, Object.fromEntries(inputs));
        for (const port of plan.outputs)
          this.#memory.set(encodeValues(port.view.type, outputs[port.name] ?? []), addressOf(port));
      },
      [Symbol.dispose]: () => this.log.push("dispose"),
    };
  }

  allocate(bytes: number): number {
    const at = this.#used;
    this.#used += Math.ceil((bytes + 1) / alignment) * alignment;
    return at;
  }

  reuse(): void {
    this.log.push("run");
  }

  copy(from: number, to: number, bytes: number): void {
    this.#memory.set(this.#bytesAt(from, bytes), to);
  }

  upload(to: number, bytes: Uint8Array): void {
    this.#memory.set(bytes, to);
  }

  download(from: number, bytes: number): Uint8Array {
    this.log.push(`download ${bytes}`);
    return this.#bytesAt(from, bytes);
  }

  synchronize(): void {}

  #bytesAt(address: number, bytes: number): Uint8Array {
    return this.#memory.slice(address, address + bytes);
  }

  [Symbol.dispose](): void {}
}

export interface Result {
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

/** A model as a program, to be run on numbers. */
export class CpuProgram {
  readonly device = new CpuDevice();
  readonly #model: OpenModel;
  readonly #runner: ProgramRunner;
  readonly #places = new Map<string, number>();

  constructor(model: OpenModel) {
    this.#model = model;
    const program = programOf({ model, precision: "fp32", weights: weightsOf(model) });
    this.#runner = new ProgramRunner(this.device, program);
  }

  run(inputs: Readonly<Record<string, readonly number[]>>): Record<string, Result> {
    for (const value of this.#model.graph.inputs) {
      const { declared, name } = value;
      const values = inputs[name];
      if (declared?.kind !== "tensor" || values === undefined || !isStorageType(declared.dtype)) continue;
      const shape = (declared.shape ?? []).map(Number);
      const host = { type: declared.dtype, shape, values };
      const bytes = encodeValues(declared.dtype, values);
      const address = this.#places.get(name) ?? this.device.allocate(bytes.length);
      this.#places.set(name, address);
      this.device.upload(address, bytes);
      this.#runner.setInput(value, { type: declared.dtype, shape, address, host });
    }
    this.#runner.run();
    return Object.fromEntries(
      [...this.#runner.outputs()].map(([name, { shape, values }]) => [
        name,
        { shape, values: Array.from(values) },
      ]),
    );
  }
}
