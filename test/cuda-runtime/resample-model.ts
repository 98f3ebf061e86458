/** @file Models of resampling: what their plan makes of inputs, and what ONNX Runtime does. */
import { InferenceSession, Tensor } from "onnxruntime-node";
import { encodeValues } from "../../cuda-runtime/ir/encode.ts";
import type { Launch } from "../../cuda-runtime/ir/step.ts";
import { resampleStruct } from "../../cuda-runtime/kernels/resample/params.table.ts";
import { planModel } from "../../cuda-runtime/plan/build.ts";
import { decodeValues } from "../../cuda-runtime/session/numbers.ts";
import { modelFromBytes } from "../../src/onnx/open.ts";
import { weightsOf } from "../gpu/node-tests-data.ts";
import { type Resampling, resampled } from "../gpu/resample-reference.ts";
import { launchesOf } from "./small-plan.ts";

export interface Feed {
  readonly type: "float32" | "float16";
  readonly shape: readonly number[];
  readonly values: ArrayLike<number>;
}

/** By input name. */
export type Feeds = Readonly<Record<string, Feed>>;

/** The launches of a model with inputs of these shapes. */
export function planned(bytes: Uint8Array, feeds: Feeds): Launch[] {
  using model = modelFromBytes(bytes);
  const shapes = new Map(Object.entries(feeds).map(([name, { shape }]) => [name, shape]));
  return launchesOf(planModel({ model, shapes, weights: weightsOf(model) }).steps);
}

/** The only output. Undefined where it refuses the model or the inputs. */
export async function ran(bytes: Uint8Array, feeds: Feeds): Promise<Float64Array | undefined> {
  let session: InferenceSession | undefined;
  try {
    session = await InferenceSession.create(bytes, { logSeverityLevel: 4 });
    const tensors = Object.entries(feeds).map(([name, feed]) => [name, tensorOf(feed)] as const);
    const [result] = Object.values(await session.run(Object.fromEntries(tensors)));
    return result && numbersOf(result);
  } catch {
    return undefined;
  } finally {
    await session?.release();
  }
}

function tensorOf({ type, shape, values }: Feed): Tensor {
  if (type === "float32") return new Tensor(type, Float32Array.from(values), shape);
  const halves = encodeValues(type, values);
  return new Tensor(type, new Uint16Array(halves.buffer, halves.byteOffset, halves.length / 2), shape);
}

function numbersOf({ type, data }: Tensor): Float64Array {
  if (type === "float32" && data instanceof Float32Array) return Float64Array.from(data);
  const bytes = ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : undefined;
  if (type !== "float16" || bytes === undefined) throw new Error(`no case of this test gives ${type}`);
  return decodeValues("float16", bytes);
}

/** What the launch makes of the inputs that its pointers name. */
export function computed({ params, writes }: Launch, feeds: Feeds): Float64Array {
  const rule = ruleOf(params.bytes, writes[0]?.shape.at(-1) ?? 1);
  const field = (name: string) => fieldOf(params.bytes, name);
  const viewAt = (name: string) => {
    const at = resampleStruct.members.find((member) => member.name === name)?.offset;
    const view = params.pointers.find((pointer) => pointer.at === at)?.view;
    const values = view && feeds[view.buffer.name]?.values;
    if (values === undefined) throw new Error(`${name} is no input`);
    return values;
  };
  const all = { x: viewAt("x"), times: viewAt("times"), targets: viewAt("targets") };
  const strided = (values: ArrayLike<number>, inner: number, batchStride: number, stride: number) =>
    Array.from(
      { length: rule.batch * inner },
      (_, i) => values[Math.floor(i / inner) * batchStride + (i % inner) * stride] ?? Number.NaN,
    );
  const times = strided(all.times, rule.source, field("strideTimesBatch"), field("strideTimes"));
  const targets = strided(all.targets, rule.target, field("strideTargetsBatch"), field("strideTargets"));
  const [y] = writes;
  const round = (weight: number) =>
    field("weightType") === 1 ? (decodeValues("float16", encodeValues("float16", [weight]))[0] ?? 0) : weight;
  const result = resampled(rule, { x: all.x, times, targets }, round);
  return y?.type === "float16" ? decodeValues("float16", encodeValues("float16", result)) : result;
}

function ruleOf(bytes: Uint8Array, features: number): Resampling {
  const field = (name: string) => fieldOf(bytes, name);
  const index = (name: string) => {
    const at = resampleStruct.members.find((member) => member.name === name)?.offset ?? 0;
    const data = new DataView(bytes.buffer, bytes.byteOffset);
    const [shift, least, most] = [0, 4, 8].map((offset) => data.getInt32(at + offset, true));
    return { shift: shift ?? 0, least: least ?? 0, most: most ?? 0 };
  };
  return {
    batch: field("batch"),
    source: field("source"),
    target: field("target"),
    features,
    isInclusive: field("isInclusive") === 1,
    low: index("low"),
    high: index("high"),
    spanAdd: field("spanAdd"),
    spanLeast: field("spanLeast"),
    zeroSpan: field("zeroSpan"),
    emptyWeight: field("emptyWeight"),
    emptyKind: field("emptyKind"),
    weightLeast: field("weightLeast"),
    weightMost: field("weightMost"),
    blend: field("blend"),
  };
}

function fieldOf(bytes: Uint8Array, name: string): number {
  const member = resampleStruct.members.find((each) => each.name === name);
  if (member === undefined) throw new Error(`there is no ${name}`);
  const data = new DataView(bytes.buffer, bytes.byteOffset);
  return member.type === "float" ? data.getFloat32(member.offset, true) : data.getInt32(member.offset, true);
}
