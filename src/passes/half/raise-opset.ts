/**
 * @file Before opset 22, ONNX has no bfloat16 convolutions, pools or recurrent layers (before 13, none at all). A model that has
 * them is relabelled as opset 22 before it is brought to BF16, where every operator in it means the same there.
 */
import { hasKernel } from "../../hardware/stacks.ts";
import { type Node, operatorOf } from "../../ir/model.ts";
import { Patch } from "../../ir/patch.ts";
import { isProduct } from "../../ops/ask.ts";
import { newestMeaning } from "../opset/meaning.ts";
import { raiseTo } from "../opset/raise.ts";
import type { Pass, PassContext, PassResult } from "../pass.ts";
import { accepts, typesOf } from "./accepts.ts";
import { dtypeIn, holds } from "./slots.ts";

/** Does nothing unless BF16 is asked for. */
export const raiseOpset: Pass = { name: "half", safe: false, run };

function run(context: PassContext): PassResult {
  const nothing: PassResult = { patch: new Patch(), notes: [] };
  const { model, options } = context;
  const opset = model.opsets.get("") ?? 1;
  if (options.halfType !== "bfloat16" || opset >= newestMeaning) return nothing;
  const products = floatProducts(context);
  const waiting = products.filter(
    (node) => !takesBfloat16(node, opset) && hasKernel(context.target.stack, "bf16", node, newestMeaning),
  );
  const [first] = waiting;
  if (first === undefined) return nothing;
  const patch = new Patch();
  const hurdle = raiseTo(newestMeaning, context, patch);
  if (hurdle !== undefined) {
    const message = `BF16 ${operatorOf(first)} needs opset ${newestMeaning}, and this model's opset ${opset} cannot be raised: ${hurdle.reason}`;
    // What the opset does take goes to BF16 all the same, and is there in a later round.
    const instead =
      waiting.length < products.length || holds(context.facts, "bfloat16")
        ? ""
        : `; nothing is stored in BF16: export it with opset ${newestMeaning}, or use --precision fp16`;
    return { ...nothing, notes: [{ kind: "blocked", node: hurdle.node, message: `${message}${instead}` }] };
  }
  const message = `opset ${opset} → ${newestMeaning}, where every operator of the model means the same: BF16 ${operatorOf(first)} needs it`;
  return { patch, notes: [{ kind: "changed", node: undefined, message }] };
}

/** In FP32, in the main graph and the bodies in it. */
function floatProducts({ facts }: PassContext): Node[] {
  const found: Node[] = [];
  for (const scope of facts.scopes()) {
    for (const node of scope.graph.nodes) {
      const isFloat = node.outputs.some((value) => dtypeIn(value, scope) === "float32");
      if (node.domain === "" && isProduct(node) && isFloat) found.push(node);
    }
  }
  return found;
}

/** A product that never takes it waits for nothing. */
function takesBfloat16({ domain, opType }: Node, opset: number): boolean {
  const types = typesOf(domain, opType);
  return (
    types === undefined || accepts(types, "bfloat16", opset) || !accepts(types, "bfloat16", newestMeaning)
  );
}
