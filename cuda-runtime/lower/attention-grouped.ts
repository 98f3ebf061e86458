import { elementCount, reshaped, sliced, type View } from "../ir/view.ts";
import { type AttentionRequest, unlimited } from "../kernels/attention/attention.ts";
import { emitCacheAppend, type Turning } from "../kernels/cache/cache.ts";
import { asOneType, attend, headsApart, maskView, setResult } from "./attention-operands.ts";
import type { Lower, LowerContext } from "./context.ts";

interface Heads {
  readonly q: View;
  readonly k: View;
  readonly v: View;
}

/**
 * query (or Q, K and V in one), key, value, past K, past V, lengths - 1, total length, cos, sin, position ids, bias; gives Y, present
 * K, present V.
 */
export const groupQueryAttention: Lower = (context) => {
  if (context.int("smooth_softmax") === 1) context.fail("smooth_softmax is set, expected 0");
  for (const index of [11, 12, 13])
    if (context.hasInput(index)) context.fail(`input ${index} is given, which the runtime does not take`);
  if (context.hasOutput(3)) context.fail("output 3 is read, which the runtime does not compute");
  for (const name of ["k_quant_type", "v_quant_type"]) {
    const type = context.string(name) ?? "NONE";
    if (type !== "NONE") context.fail(`${name} is ${type}, expected NONE`);
  }
  const hasPast = context.hasInput(3) && elementCount(context.inputShape(3)) > 0;
  if (hasPast || context.int("do_rotary") === 1) withCache(context, hasPast);
  else withoutCache(context);
};

function withoutCache(context: LowerContext): void {
  const { q, k, v } = headsOf(context);
  const [oneQ, oneK, oneV] = asOneType(context, [q, k, v]);
  if (oneQ === undefined || oneK === undefined || oneV === undefined)
    return context.fail("expected Q, K and V");
  context.setOutput(1, oneK);
  context.setOutput(2, oneV);
  const position = (oneK.shape[2] ?? 0) - (oneQ.shape[2] ?? 0);
  finish(context, { q: oneQ, k: oneK, v: oneV, position });
}

function withCache(context: LowerContext, hasPast: boolean): void {
  const { q, k, v } = headsOf(context);
  const [batch = 1, , length = 1] = q.shape;
  const present = { k: presentOf(context, 1), v: presentOf(context, 2) };
  const [total = 0] = context.knownElements(6);
  const isPrompt = total === length;
  if (!hasPast && !isPrompt)
    context.fail(`has ${length} positions of ${total} and no past, expected one, or no others`);
  const appended = emitCacheAppend(context, {
    q: contiguous(context, q),
    k: contiguous(context, k),
    v: contiguous(context, v),
    lengths: flat(context, 5, batch),
    past: hasPast ? { k: pastOf(context, 3), v: pastOf(context, 4) } : undefined,
    present,
    isPrompt,
    turning: turningOf(context, q),
  });
  const keys = (view: View) => sliced(view, 2, 0, Math.min(total, view.shape[2] ?? total));
  const request = { q: appended.q, k: keys(present.k), v: keys(present.v), keyCounts: appended.counts };
  // A prompt begins at the first key, whatever its samples' lengths.
  finish(context, { ...request, position: isPrompt ? 0 : "end" });
}

function headsOf(context: LowerContext): Heads {
  const heads = context.int("num_heads") ?? context.fail("the attribute num_heads is missing");
  const kvHeads = context.int("kv_num_heads") ?? context.fail("the attribute kv_num_heads is missing");
  const query = context.input(0);
  if (context.hasInput(1)) {
    const apart = (index: number) => headsApart(context, context.input(index), kvHeads);
    return { q: headsApart(context, query, heads), k: apart(1), v: apart(2) };
  }
  const size = (query.shape[2] ?? 0) / (heads + 2 * kvHeads);
  const part = (start: number, count: number) =>
    headsApart(context, sliced(query, 2, start * size, count * size), count);
  return { q: part(0, heads), k: part(heads, kvHeads), v: part(heads + kvHeads, kvHeads) };
}

/** Memory for a present cache, whether or not somebody reads it beside attention. */
function presentOf(context: LowerContext, index: number): View {
  const home = context.home(index);
  if (home !== undefined) {
    context.setOutput(index, home);
    return home;
  }
  if (context.hasOutput(index)) return context.output(index);
  return context.temporary(context.outputType(index), context.outputShape(index));
}

/** As the present one is stored, which it may be. */
function pastOf(context: LowerContext, index: number): View {
  const home = context.home(index - 2);
  const past = context.input(index);
  if (home?.buffer === past.buffer) return past;
  const packed = context.packed(past, { type: context.outputType(index - 2) });
  // Rows are copied 16 bytes at a time: a slice may begin anywhere.
  if (packed.offset % 8 === 0) return packed;
  const own = context.temporary(packed.type, packed.shape);
  context.copy(packed, own);
  return own;
}

function contiguous(context: LowerContext, view: View): View {
  return view.strides[3] === 1 || view.shape[3] === 1 ? view : context.packed(view);
}

/** An integer for each sample, [batch] or [batch, 1]. */
function flat(context: LowerContext, index: number, batch: number): View {
  const view = context.packed(context.input(index));
  if (view.type !== "int32" || elementCount(view.shape) !== batch)
    return context.fail(
      `has ${view.type}[${view.shape.join(",")}] as input ${index}, expected int32[${batch}]`,
    );
  return reshaped(view, [batch]) ?? context.fail("tc-lint bug: packed");
}

function turningOf(context: LowerContext, { shape }: View): Turning | undefined {
  if ((context.int("do_rotary") ?? 0) === 0) return undefined;
  const [batch = 1, , length = 1, dim = 1] = shape;
  const [cos, sin] = [context.packed(context.input(7)), context.packed(context.input(8))];
  const pairs = cos.shape.at(-1) ?? 0;
  if (cos.shape.length !== 2 || 2 * pairs > dim || cos.type !== sin.type)
    return context.fail(`has a cache of cosines [${cos.shape.join(",")}] for heads of ${dim}`);
  const given = context.hasInput(9) ? context.packed(context.input(9)) : undefined;
  const positions = given && reshaped(given, [batch, length]);
  return { cos, sin, positions, isInterleaved: context.int("rotary_interleaved") === 1 };
}

type Operands = Heads & Pick<AttentionRequest, "position" | "keyCounts">;

function finish(context: LowerContext, operands: Operands): void {
  const { q, k } = operands;
  const [batch = 1, heads = 1, queries = 1, dim = 1] = q.shape;
  const keys = k.shape[2] ?? 0;
  const window = context.int("local_window_size") ?? -1;
  const scale = context.float("scale") ?? 0;
  const request: Omit<AttentionRequest, "o"> = {
    ...operands,
    bias: context.hasInput(10) ? maskView(context.input(10), [batch, heads, queries, keys]) : undefined,
    // 0 stands for the default.
    scale: scale === 0 ? 1 / Math.sqrt(dim) : scale,
    softcap: context.float("softcap") ?? 0,
    left: window < 0 ? unlimited : window - 1,
    right: 0,
    emptyRows: "nan",
  };
  setResult(context, attend(context, request, context.outputType(0)));
}
