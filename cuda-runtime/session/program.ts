/**
 * @file A program on a device: segment after segment, and between them what the host does. Values stay on the device but for
 * those that the host looks at.
 */

import { invariant } from "../../src/ir/errors.ts";
import { describeNode, type Node, type Value } from "../../src/ir/model.ts";
import { elementsOfFact, sizesOfFact } from "../graph/known.ts";
import { HostError, type HostTensor } from "../host/operator.ts";
import { encodeValues } from "../ir/encode.ts";
import { PlanError, type PlanPort } from "../ir/step.ts";
import { isStorageType } from "../ir/storage.ts";
import type { HostWork } from "../plan/cuts.ts";
import { type Computed, dtypeOf, type Program, type Stage } from "../plan/program.ts";
import type { Segment } from "../plan/segment.ts";
import {
  bytesOf,
  type Held,
  type HeldValues,
  type LoadedSegment,
  type ProgramMachine,
  type SegmentDevice,
} from "./held.ts";
import { LoopRun } from "./loop.ts";
import { decodeValues } from "./numbers.ts";

/** Segments kept loaded. */
const maxLoaded = 64;

interface Kept {
  readonly loaded: LoadedSegment;
  readonly key: string;
  run: number;
}

export class ProgramRunner implements ProgramMachine, Disposable {
  readonly device: SegmentDevice;
  readonly #program: Program;
  readonly #loaded = new Map<Segment, Kept>();
  readonly #inputs: HeldValues = new Map();
  #run = 0;
  /** Told what each piece of the host's work took, the GPU having been waited for before. */
  onWork: ((node: Node, microseconds: number) => void) | undefined;
  #results: { readonly held: HeldValues; readonly last: Stage } | undefined;

  /** The device is the runner's from now on. */
  constructor(device: SegmentDevice, program: Program) {
    this.device = device;
    this.#program = program;
  }

  /** Of the model's inputs: in memory that the caller keeps until the last run. */
  setInput(value: Value, held: Held): void {
    this.#inputs.set(value, held);
  }

  /** Leaves the outputs where they are: what is still queued runs on. Throws PlanError, CudaError. */
  run(): void {
    this.#run++;
    this.device.reuse();
    this.#results = this.execute(this.#program, new Map(this.#inputs));
  }

  /** The outputs of the last run, by name. */
  outputs(): Map<string, HostTensor> {
    const results = this.#results;
    invariant(results !== undefined, "outputs are read before a run");
    return new Map(
      this.#program.source.outputs.map((value) => [
        value.name,
        this.hostOf(value, results.last, results.held),
      ]),
    );
  }

  /** Runs a program to its end. `held` is added to. */
  execute(program: Program, held: HeldValues): { readonly held: HeldValues; readonly last: Stage } {
    const isMain = program === this.#program;
    for (let stage = program.first; ; ) {
      this.#runSegment(stage, held, isMain);
      if (stage.work.length === 0) return { held, last: stage };
      const results = new Map<Value, Computed>();
      for (const work of stage.work) this.#timed(work, () => this.#work(work, stage, held, results));
      stage = stage.after(results);
    }
  }

  #runSegment({ segment }: Stage, held: HeldValues, isMain: boolean): void {
    if (segment === undefined) return;
    // What changes its place from run to run is copied, and so is everything in loops: graphs hold addresses.
    const bound = new Map<PlanPort, number>();
    for (const [value, port] of segment.takes) {
      const { address, moves } = heldOf(value, held);
      if (isMain && address !== undefined && moves !== true) bound.set(port, address);
    }
    const loaded = this.#load(segment, bound);
    for (const [value, port] of segment.takes)
      if (!bound.has(port)) this.place(heldOf(value, held), loaded.addressOf(port));
    loaded.launch();
    for (const [value, port] of segment.gives) {
      const { type, shape } = port.view;
      held.set(value, { type, shape, address: loaded.addressOf(port), host: undefined });
    }
  }

  #load(segment: Segment, bound: ReadonlyMap<PlanPort, number>): LoadedSegment {
    const key = [...bound.values()].join();
    const found = this.#loaded.get(segment);
    this.#loaded.delete(segment);
    if (found !== undefined && found.key === key) {
      found.run = this.#run;
      this.#loaded.set(segment, found);
      return found.loaded;
    }
    found?.loaded[Symbol.dispose]();
    this.#makeRoom();
    const loaded = this.device.load(segment, bound);
    this.#loaded.set(segment, { loaded, key, run: this.#run });
    return loaded;
  }

  /** What this run has used may still be read. */
  #makeRoom(): void {
    for (const [segment, { loaded, run }] of this.#loaded) {
      if (this.#loaded.size < maxLoaded || run === this.#run) return;
      this.#loaded.delete(segment);
      loaded[Symbol.dispose]();
    }
  }

  /** Of a graph or a loop the parts inside are told. */
  #timed({ kind, node }: HostWork, work: () => void): void {
    if (this.onWork === undefined || kind === "graph" || kind === "loop") {
      work();
      return;
    }
    this.device.synchronize();
    const start = performance.now();
    work();
    this.onWork(node, 1000 * (performance.now() - start));
  }

  /** Segments that the last run used. */
  segmentsOfRun(): Segment[] {
    return [...this.#loaded].flatMap(([segment, { run }]) => (run === this.#run ? [segment] : []));
  }

  #work(work: HostWork, stage: Stage, held: HeldValues, results: Map<Value, Computed>): void {
    switch (work.kind) {
      case "read":
        for (const value of work.values) results.set(value, this.#read(value, stage, held));
        return;
      case "operator":
        this.#compute(work, stage, held, results);
        return;
      case "graph":
        this.#runInside(work, stage, held, results);
        return;
      case "loop":
        new LoopRun(this, work, stage, held).run((value, own) =>
          this.#give(value, own, stage, held, results),
        );
    }
  }

  #read(value: Value, stage: Stage, held: HeldValues): Computed {
    const { type, shape, values } = this.hostOf(value, stage, held);
    const dtype = dtypeOf(stage.scope.fact(value));
    return { type, fact: { kind: "tensor", dtype, shape, elements: Array.from(values) } };
  }

  #compute(
    { node, operator }: Extract<HostWork, { kind: "operator" }>,
    stage: Stage,
    held: HeldValues,
    results: Map<Value, Computed>,
  ): void {
    const inputs = node.inputs.map((value) => value && this.hostOf(value, stage, held));
    try {
      const outputs = operator.run(inputs, stage.attributesOf(node));
      for (const [index, host] of outputs.entries()) {
        const value = node.outputs[index];
        const { type, shape } = host;
        if (value !== undefined)
          this.#give(value, { type, shape, address: undefined, host }, stage, held, results);
      }
    } catch (error) {
      if (!(error instanceof HostError)) throw error;
      throw new PlanError(node.opType, `${describeNode(node)}: ${error.message}`);
    }
  }

  #runInside(
    work: Extract<HostWork, { kind: "graph" }>,
    stage: Stage,
    held: HeldValues,
    results: Map<Value, Computed>,
  ): void {
    const { node, graph } = work;
    const inner = new Map(held);
    for (const [index, value] of graph.inputs.entries()) {
      const given = node.inputs[index];
      const own = given && held.get(given);
      if (own !== undefined) inner.set(value, own);
    }
    const done = this.execute(stage.inside(work), inner);
    for (const [index, value] of graph.outputs.entries()) {
      const output = node.outputs[index];
      if (output !== undefined)
        this.#give(output, this.resultOf(value, done.last, done.held), stage, held, results);
    }
  }

  #give(value: Value, own: Held, { scope }: Stage, held: HeldValues, results: Map<Value, Computed>): void {
    held.set(value, own);
    const dtype = dtypeOf(scope.fact(value)) ?? own.type;
    results.set(value, { type: own.type, fact: { kind: "tensor", dtype, shape: own.shape } });
  }

  /** An output of a program that has run. */
  resultOf(value: Value, last: Stage, held: HeldValues): Held {
    const own = held.get(value);
    if (own !== undefined) return own;
    const host = this.hostOf(value, last, held);
    return { type: host.type, shape: host.shape, address: undefined, host };
  }

  /** A value in the host's memory. */
  hostOf(value: Value, { scope }: Stage, held: HeldValues): HostTensor {
    const own = held.get(value);
    if (own?.host !== undefined) return own.host;
    const fact = scope.fact(value);
    const [elements, sizes, dtype] = [elementsOfFact(fact), sizesOfFact(fact), dtypeOf(fact)];
    if (elements !== undefined && sizes !== undefined && isStorageType(dtype))
      return { type: dtype, shape: sizes, values: elements };
    const { type, shape, address } = heldOf(value, held);
    invariant(address !== undefined, `"${value.name}" is nowhere`);
    const values = decodeValues(type, this.device.download(address, bytesOf(type, shape)));
    const host = { type, shape, values };
    held.set(value, { type, shape, address, host });
    return host;
  }

  /** Writes a value to a place on the device. */
  place({ type, shape, address, host }: Held, to: number): void {
    const bytes = bytesOf(type, shape);
    if (address === undefined) {
      invariant(host !== undefined, "a value is nowhere");
      if (bytes > 0) this.device.upload(to, encodeValues(type, host.values));
    } else if (address !== to && bytes > 0) {
      this.device.copy(address, to, bytes);
    }
  }

  [Symbol.dispose](): void {
    for (const { loaded } of this.#loaded.values()) loaded[Symbol.dispose]();
    this.device[Symbol.dispose]();
  }
}

function heldOf(value: Value, held: HeldValues): Held {
  const own = held.get(value);
  invariant(own !== undefined, `"${value.name}" is read before it is computed`);
  return own;
}
