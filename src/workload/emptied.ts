/** @file Sizes of 0, of a user or of the file, and graphs without nodes: what leaves a run something to compute, and what does not. */
import type { BindOptions } from "../facts/bind.ts";
import type { Facts } from "../facts/infer.ts";
import { InputError } from "../ir/errors.ts";
import { listText } from "../ir/message.ts";
import type { Value } from "../ir/model.ts";

/**
 * A cache that is empty yet (a past of 0) is a size like others. Where a 0 leaves an output of the model without an element, the run computes
 * nothing there, and what it takes says nothing of the model. Throws InputError `bad-size`.
 */
export function checkOutputs({ model, root, bindings }: Facts, { shapes }: BindOptions): void {
  const zeros = [
    ...[...bindings].flatMap(([name, size]) => (size === 0 ? [`${name}=0`] : [])),
    ...[...(shapes ?? [])].flatMap(([name, shape]) =>
      shape.includes(0) ? [`input "${name}" ${listText(shape)}`] : [],
    ),
  ];
  if (zeros.length === 0) return;
  for (const output of model.graph.outputs) {
    const shape = root.shape(output);
    if (shape?.includes(0) !== true) continue;
    throw new InputError(
      "bad-size",
      `${model.path}: ${zeros.join(", ")}: output "${output.name}" ${listText(shape)} is empty, so there is nothing to price; expected 1 or more (0 is a size of what may be empty, such as the past of a decoder)`,
    );
  }
}

/**
 * Whether a file computes anything at its own sizes: some output has elements. Throws InputError `no-nodes` of a graph without nodes,
 * `no-outputs` of one that gives nothing, else `bad-size`.
 */
export function checkFile({ model: { graph, path }, root }: Facts): void {
  if (graph.nodes.length === 0)
    throw new InputError("no-nodes", `${path}: the graph has no node, so there is nothing to price`);
  const [first] = graph.outputs;
  if (first === undefined)
    throw new InputError("no-outputs", `${path}: the graph has no output, so there is nothing to price`);
  const isEmpty = (output: Value) => root.shape(output)?.includes(0) === true;
  if (!graph.outputs.every(isEmpty)) return;
  const shape = listText(root.shape(first) ?? []);
  throw new InputError(
    "bad-size",
    `${path}: output "${first.name}" ${shape} is empty by the sizes in the file, so there is nothing to price; export it with 1 or more`,
  );
}
