/** @file The first value inside a model that the runtime computes otherwise than the reference. */
import { inferFacts } from "../../facts/infer.ts";
import { dtypes } from "../../ir/dtype.ts";
import { labelOf, operatorOf } from "../../ir/model.ts";
import { openModel } from "../../onnx/open.ts";
import { compareTensors, type Difference } from "../../verify/compare.ts";
import type { Tensors } from "../../verify/tensor.ts";
import { countOf, isFloatTensor } from "../../verify/tensor.ts";
import type { InnerDivergence } from "./report.ts";

/** Of one run; both runtimes hold all that is looked at. */
const maxElements = 50_000_000;

/** Float values of the main graph that both models have, in order; evenly thinned where they are too many. */
export function layersToLook(original: string, candidate: string, inputs: Tensors): string[] {
  using a = openModel(original);
  using b = openModel(candidate);
  const shapes = new Map([...inputs].map(([name, { dims }]) => [name, dims]));
  const { root } = inferFacts(a, { shapes });
  const sizes = a.graph.nodes.flatMap(({ outputs }) =>
    outputs.flatMap((value) => {
      const fact = value === undefined ? undefined : root.fact(value);
      if (value === undefined || fact?.kind !== "tensor" || fact.dtype === undefined) return [];
      const dims = fact.shape?.filter((dim) => typeof dim === "number");
      const isWhole = dims !== undefined && dims.length === fact.shape?.length;
      const isWanted =
        isWhole && dtypes[fact.dtype].kind === "float" && !value.isOutput && isMade(b, value.name);
      return isWanted ? [{ name: value.name, elements: countOf(dims) }] : [];
    }),
  );
  const total = sizes.reduce((sum, { elements }) => sum + elements, 0);
  const step = Math.max(1, Math.ceil(total / maxElements));
  return sizes.filter((_, index) => index % step === 0).map(({ name }) => name);
}

function isMade({ graph }: ReturnType<typeof openModel>, name: string): boolean {
  return graph.values.get(name)?.producer !== undefined;
}

/** In the order of `names`; `tolerance` is a share of a value's root mean square. */
export function firstInnerDivergence(
  original: string,
  names: readonly string[],
  expected: Tensors,
  actual: Tensors,
  tolerance: number,
): InnerDivergence | undefined {
  for (const name of names) {
    const [a, b] = [expected.get(name), actual.get(name)];
    if (a === undefined || b === undefined || !isFloatTensor(a) || a.dims.join() !== b.dims.join()) continue;
    const difference = compareTensors(a, b);
    if (isOff(difference, tolerance)) return { value: name, ...madeBy(original, name), difference };
  }
  return undefined;
}

function isOff({ mismatches, rootMeanSquareError, rootMeanSquare }: Difference, tolerance: number): boolean {
  return mismatches > 0 || rootMeanSquareError > tolerance * rootMeanSquare;
}

function madeBy(path: string, name: string): { node: string; operator: string } {
  using model = openModel(path);
  const node = model.graph.values.get(name)?.producer;
  return node === undefined
    ? { node: "", operator: "" }
    : { node: labelOf(node), operator: operatorOf(node) };
}
