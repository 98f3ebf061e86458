/** @file ai.onnx.preview.training: optimizers update tensors, gradients mirror them. */
import { defineOp, type OpDefinition, type TensorFact } from "../op.ts";
import { asTensor, tensor } from "../shape.ts";
import { computed } from "../traits.ts";

const domain = "ai.onnx.preview.training";

/** Learning rate and update count come first. */
const scalars = 2;

/**
 * Inputs come in groups of one tensor each per optimized tensor: values, gradients, then state.
 * Outputs are the groups without the gradients.
 *
 * @param groups Values, gradients and states.
 */
function optimizer(type: string, groups: number): OpDefinition {
  return defineOp({
    domain,
    type,
    traits: computed,
    infer(context) {
      const tensors = context.inputs.slice(scalars).map(asTensor);
      const count = Math.floor(tensors.length / groups);
      return [...tensors.slice(0, count), ...tensors.slice(2 * count)].map(withoutElements);
    },
    traffic: "elementwise",
  });
}

function withoutElements({ dtype, shape }: TensorFact): TensorFact {
  return tensor(dtype, shape);
}

/** One gradient for every tensor that `xs` names, in the order of the inputs. */
const gradient = defineOp({
  domain,
  type: "Gradient",
  traits: computed,
  infer: (context) =>
    context.inputs
      .slice(0, context.strings("xs")?.length ?? 0)
      .map((fact) => withoutElements(asTensor(fact))),
});

export const trainingOps: readonly OpDefinition[] = [
  optimizer("Adagrad", 3),
  optimizer("Adam", 4),
  optimizer("Momentum", 3),
  gradient,
];
