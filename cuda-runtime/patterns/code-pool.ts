/**
 * @file The maximum of dequantized codes is the dequantized maximum of the codes, where scales are positive: MaxPool moves in front of
 * DequantizeLinear. A QuantizeLinear behind it that makes the same codes again is taken along.
 */
import { intsAttributeIn, stringAttributeIn } from "../../src/facts/attributes.ts";
import type { Scope } from "../../src/facts/scope.ts";
import { type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { constant, convert, load, multiply, subtract } from "../ir/expr-build.ts";
import { orderOf } from "../ir/view.ts";
import { maxSpatialRank } from "../kernels/conv/spatial.ts";
import type { CodeNumbers } from "../kernels/gemm-int8/codes.ts";
import { tailQuantizes } from "../kernels/gemm-int8/tail.ts";
import { emitPool } from "../kernels/pool/pool.ts";
import { type SlidingWindow, slidingWindow } from "../lower/conv-window.ts";
import { PatternGraph } from "./graph.ts";
import type { Macro, MacroContext } from "./macro.ts";
import { numbersOf } from "./quantized-tail.ts";

interface CodePool {
  readonly codes: Value;
  readonly numbers: CodeNumbers;
  readonly window: SlidingWindow;
  /** Of the maxima, [N, C, …]. */
  readonly shape: readonly number[];
  /** Whether codes are wanted, not what they stand for. */
  readonly staysCodes: boolean;
}

export function recogniseCodePool(scope: Scope): readonly Macro[] {
  const graph = PatternGraph.of(scope);
  return graph
    .nodes()
    .flatMap((node) => (operatorOf(node) === "MaxPool" ? (macroOf(node, graph) ?? []) : []));
}

function macroOf(pool: Node, graph: PatternGraph): Macro | undefined {
  const [real] = pool.inputs;
  const [maxima, indices] = pool.outputs;
  const back = graph.producerOf(real);
  const [codes] = back !== undefined && operatorOf(back) === "DequantizeLinear" ? back.inputs : [];
  if (back === undefined || codes === undefined || maxima === undefined || indices !== undefined)
    return undefined;
  const [numbers, shape] = [numbersOf(back.inputs, codes, graph), graph.shape(maxima)];
  const window = windowOf(pool, graph);
  if (numbers === undefined || !(numbers.scale > 0) || shape === undefined || window === undefined)
    return undefined;
  const again = sameCodesBehind(maxima, numbers, graph);
  const output = again?.outputs[0] ?? maxima;
  const nodes = graph.closed(again === undefined ? [pool] : [pool, again], output);
  const own: CodePool = { codes, numbers, window, shape, staysCodes: again !== undefined };
  return nodes && { name: "MaxPool", nodes, output, lower: (context) => lowerPool(context, own) };
}

/** Undefined where a window may lie outside the image: of nothing, codes have another maximum than floats. */
function windowOf(pool: Node, graph: PatternGraph): SlidingWindow | undefined {
  const kernel = intsAttributeIn(pool, "kernel_shape", graph.scope);
  const [x, y] = [graph.shape(pool.inputs[0])?.slice(2), graph.shape(pool.outputs[0])?.slice(2)];
  if (kernel === undefined || x === undefined || y === undefined || kernel.length !== x.length)
    return undefined;
  if (x.length < 1 || x.length > maxSpatialRank || x.includes(0)) return undefined;
  const attributes = {
    ints: (name: string) => intsAttributeIn(pool, name, graph.scope),
    string: (name: string) => stringAttributeIn(pool, name, graph.scope),
  };
  const window = slidingWindow(attributes, kernel, x);
  const isInside = kernel.every((taps, axis) => {
    const [pad, stride] = [window.padsBegin[axis] ?? 0, window.strides[axis] ?? 1];
    const last = ((y[axis] ?? 1) - 1) * stride - pad;
    const isWhole = pad === 0 || (window.dilations[axis] === 1 && pad < taps);
    return isWhole && last < (x[axis] ?? 0);
  });
  return isInside ? window : undefined;
}

/** A QuantizeLinear that is all that reads the maxima, by the numbers that the codes have. */
function sameCodesBehind(maxima: Value, numbers: CodeNumbers, graph: PatternGraph): Node | undefined {
  const node = graph.onlyReader(maxima);
  if (node === undefined || operatorOf(node) !== "QuantizeLinear" || node.inputs[0] !== maxima)
    return undefined;
  const own = numbersOf(node.inputs, node.outputs[0], graph);
  const isSame = own?.scale === numbers.scale && own.zero === numbers.zero && own.type === numbers.type;
  return isSame && tailQuantizes(numbers) ? node : undefined;
}

function lowerPool(context: MacroContext, { codes, numbers, window, shape, staysCodes }: CodePool): void {
  const x = context.view(codes);
  const to = context.temporary(x.type, shape, orderOf(x));
  emitPool(context, { kind: "max", x, to, ...window });
  if (staysCodes) return context.setOutput(to);
  const distance = subtract(convert("i32", load(to)), constant("i32", numbers.zero));
  context.setExpr(multiply(convert("f32", distance), constant("f32", numbers.scale)));
}
