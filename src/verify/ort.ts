/** @file ONNX Runtime on the CPU: the only file that loads it, and only in the child process that may not survive it. */
import type * as runtime from "onnxruntime-node";
import { InputError } from "../ir/errors.ts";
import { own } from "../ir/own.ts";
import type { Stacked } from "../ir/stacked.ts";
import type { ModelBytes } from "../onnx/in-memory.ts";
import { sumsSaturate, withExactSums } from "./exact-sums/exact-sums.ts";
import { runtimeReason } from "./runtime-reason.ts";
import { runStacked } from "./stacked.ts";
import {
  type ArrayType,
  arrays,
  isSharedType,
  type NumberArray,
  type Tensor,
  type Tensors,
} from "./tensor.ts";

type Runtime = typeof runtime;

/** The script of onnxruntime-node downloads GPU libraries unless told not to. */
const installLine = "ONNXRUNTIME_NODE_INSTALL=skip npm i onnxruntime-node";

/** Of a file, or of bytes that exist nowhere else. */
export type Runnable = { readonly path: string } | (ModelBytes & { readonly path: string });

export type Optimization = "disabled" | "basic" | "all";

export interface SessionOptions {
  /** `basic` folds constants and computes everything else operator by operator; `all` fuses; `disabled` does neither. */
  readonly optimization: Optimization;
  readonly threads: number | undefined;
  /** Takes more samples at once than the model does, in several runs of it. */
  readonly stacked?: Stacked | undefined;
}

export class Session implements AsyncDisposable {
  readonly #ort: Runtime;
  readonly #session: runtime.InferenceSession;
  readonly #path: string;
  readonly #stacked: Stacked | undefined;
  readonly optimization: Optimization;
  /** What is not as it seems in what it gives. */
  readonly notices: readonly string[];

  constructor(
    ort: Runtime,
    session: runtime.InferenceSession,
    path: string,
    { optimization, stacked }: SessionOptions,
    notices: readonly string[] = [],
  ) {
    this.notices = notices;
    this.optimization = optimization;
    this.#stacked = stacked;
    this.#ort = ort;
    this.#session = session;
    this.#path = path;
  }

  get outputNames(): readonly string[] {
    return this.#session.outputNames;
  }

  /** Throws InputError `cannot-run` with ONNX Runtime's reason. */
  async run(inputs: Tensors): Promise<Tensors> {
    return this.#stacked === undefined
      ? await this.#runOnce(inputs)
      : await runStacked(this.#stacked, inputs, (part) => this.#runOnce(part), this.#path);
  }

  async #runOnce(inputs: Tensors): Promise<Tensors> {
    // Without a prototype: an input may be named as what objects inherit.
    const feeds: Record<string, runtime.Tensor> = Object.create(null);
    for (const [name, tensor] of inputs) feeds[name] = this.#toOrt(tensor);
    let results: runtime.InferenceSession.ReturnType;
    try {
      results = await this.#session.run(feeds);
    } catch (error) {
      throw refused(this.#path, "run", error);
    }
    const outputs = new Map<string, Tensor>();
    for (const name of this.outputNames) {
      const result = own(results, name);
      if (result !== undefined) outputs.set(name, this.#fromOrt(name, result));
    }
    return outputs;
  }

  #toOrt({ dtype, dims, data }: Tensor): runtime.Tensor {
    const { Tensor } = this.#ort;
    if (dtype === "string") return new Tensor("string", data, dims);
    if (dtype === "bfloat16" || !isSharedType(dtype)) {
      throw new InputError(
        "unsupported-input",
        `${this.#path}: inputs of ${dtype} cannot be given to ONNX Runtime from here`,
      );
    }
    return new Tensor(dtype, data, dims);
  }

  #fromOrt(name: string, { type, dims, data }: runtime.OnnxValue): Tensor {
    if (type === "string" && Array.isArray(data)) return { dtype: type, dims, data };
    if (!isSharedType(type) || !ArrayBuffer.isView(data)) {
      throw new InputError(
        "unsupported-output",
        `${this.#path}: output "${name}" is ${type}, which is not compared`,
      );
    }
    return { dtype: type, dims, data: arrayOf(type, data) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#session.release();
  }
}

/** A copy in the array of its type: newer versions of Node give halves as numbers (Float16Array), not as bits. */
function arrayOf(dtype: ArrayType, { buffer, byteOffset, byteLength }: ArrayBufferView): NumberArray {
  const copy = new Uint8Array(byteLength);
  copy.set(new Uint8Array(buffer, byteOffset, byteLength));
  return new arrays[dtype](copy.buffer);
}

/**
 * A session whose products of codes add up exactly, on any CPU: see exact-sums/shifted.ts. Throws InputError: `onnxruntime-missing`, or
 * `cannot-run` with ONNX Runtime's reason.
 */
export async function openSession(model: Runnable, options: SessionOptions): Promise<Session> {
  if (!(await sumsSaturate(runOnce))) return await createSession(model, options);
  const exact = withExactSums(model.path, "bytes" in model ? model : undefined);
  const runnable = exact === undefined ? model : { ...exact.bytes, path: model.path };
  return await createSession(runnable, options, { session: keepsSigned, notices: exact?.notices ?? [] });
}

async function runOnce(bytes: ModelBytes): Promise<Tensors> {
  await using session = await createSession(
    { ...bytes, path: "a product of codes" },
    { optimization: "disabled", threads: 1 },
  );
  return await session.run(new Map());
}

/** Else fusions on x86 make int8 activations between QuantizeLinear and DequantizeLinear uint8, and products of one type mixed ones. */
const keepsSigned = { qdqisint8allowed: "1" };

interface More {
  /** Of the session's configuration, below "session". */
  readonly session?: Readonly<Record<string, string>>;
  readonly notices?: readonly string[];
}

async function createSession(
  model: Runnable,
  sessionOptions: SessionOptions,
  { session: entries = {}, notices = [] }: More = {},
): Promise<Session> {
  const { optimization, threads } = sessionOptions;
  const ort = await loadRuntime();
  const options: runtime.InferenceSession.SessionOptions = {
    executionProviders: ["cpu"],
    graphOptimizationLevel: optimization,
    // Its warnings are about speed, or about what the error message says again.
    logSeverityLevel: 4,
    ...(threads !== undefined && { intraOpNumThreads: threads }),
    extra: { session: { ...entries, ...("bytes" in model && externalDataIn(model.folder)) } },
  };
  try {
    const session =
      "bytes" in model
        ? await ort.InferenceSession.create(model.bytes, options)
        : await ort.InferenceSession.create(model.path, options);
    return new Session(ort, session, model.path, sessionOptions, notices);
  } catch (error) {
    throw refused(model.path, "load", error);
  }
}

function externalDataIn(folder: string) {
  return { model_external_initializers_file_folder_path: folder };
}

let loaded: Promise<Runtime> | undefined;

function loadRuntime(): Promise<Runtime> {
  // It keeps an identifier of the machine in ~/.cache and reports its use over HTTPS, unless told not to.
  process.env["ORT_DISABLE_TELEMETRY"] = "1";
  loaded ??= import("onnxruntime-node").catch((error: unknown) => {
    throw missing(error);
  });
  return loaded;
}

function missing(error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code !== "ERR_MODULE_NOT_FOUND" && code !== "MODULE_NOT_FOUND" && code !== "ERR_DLOPEN_FAILED")
    return error;
  const isAbsent = code === "ERR_MODULE_NOT_FOUND";
  const what = isAbsent ? "is not installed" : `cannot be loaded on this machine (${String(error)})`;
  return new InputError(
    "onnxruntime-missing",
    `onnxruntime-node ${what}; running models needs it: ${installLine}`,
    {
      cause: error,
    },
  );
}

export async function runtimeVersion(): Promise<string> {
  const ort = await loadRuntime();
  return `ONNX Runtime ${ort.env.versions.node ?? ort.env.versions.common} on the CPU`;
}

function refused(path: string, what: "load" | "run", error: unknown): InputError {
  const message = `${path}: ONNX Runtime cannot ${what} it: ${runtimeReason(error)}`;
  return new InputError("cannot-run", message, { cause: error });
}
