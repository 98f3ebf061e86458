/** @file From the facts of a model to steps: one node after another, each as late as its readers allow. */

import { NodeContext } from "../../src/facts/context.ts";
import type { Facts } from "../../src/facts/infer.ts";
import type { Scope } from "../../src/facts/scope.ts";
import { tensorAttributeOf } from "../../src/ir/attributes.ts";
import { counted } from "../../src/ir/format.ts";
import { describeNode, labelOf, type Node, operatorOf, type Value } from "../../src/ir/model.ts";
import { own } from "../../src/ir/own.ts";
import { isConcat, isConstantNode } from "../../src/ops/ask.ts";
import { checkNode, checkOutputs, nodeError } from "../graph/check.ts";
import type { PlanTarget } from "../ir/step.ts";
import { lowerings } from "../lower/index.ts";
import type { Macro } from "../patterns/macro.ts";
import type { Origin } from "./buffers.ts";
import { lowerConcat } from "./concat-in-place.ts";
import { lowerControl } from "./control.ts";
import type { Frame } from "./frame.ts";
import type { FusedOperator, FusedProducts } from "./fused.ts";
import { lowerProducts } from "./fused-products.ts";
import { frameOf } from "./fusion.ts";
import { MacroLowering } from "./macro-lowering.ts";
import { NodeLowering } from "./node-lowering.ts";
import { UnrolledNodes } from "./unrolled.ts";
import type { ValueTable } from "./value-table.ts";
import type { GraphLowering } from "./values.ts";

export class Planner implements GraphLowering {
  readonly values: ValueTable;
  readonly inferBody: Facts["inferBody"];
  readonly unrolled = new UnrolledNodes();
  readonly #quantizedFor: PlanTarget | undefined;

  /** `quantizedFor`: as `frameOf` takes it. */
  constructor(values: ValueTable, inferBody: Facts["inferBody"], quantizedFor: PlanTarget | undefined) {
    this.values = values;
    this.inferBody = inferBody;
    this.#quantizedFor = quantizedFor;
  }

  frameOf(scope: Scope, parent: Frame | undefined, wanted?: readonly Value[]): Frame {
    return frameOf(scope, parent, wanted, this.#quantizedFor);
  }

  /** Lowers an instance of a graph whose inputs have slots already. */
  lowerGraph(frame: Frame): void {
    const { graph } = frame.scope;
    checkOutputs(graph.outputs.filter((output) => frame.live.isLive(output)));
    for (const node of graph.nodes) if (frame.live.has(node)) checkNode(node, frame.scope);
    for (const operator of frame.operators) {
      if (operator.kind === "macro") this.#lowerMacro(operator.macro, frame);
      else if (!frame.done.has(operator.node)) this.#lowerOperator(operator, frame);
    }
  }

  #lowerOperator(operator: Exclude<FusedOperator, { kind: "macro" }>, frame: Frame): void {
    const { node } = operator;
    if (operator.kind === "products" && this.#lowerProducts(operator, frame)) return;
    this.values.emitter.draft.origin = originOf(node);
    this.#lowerNode(node, frame);
  }

  /** Whether they are one; else each is a product by itself. */
  #lowerProducts(operator: FusedProducts, frame: Frame): boolean {
    const { node, members } = operator;
    const beside = members.flatMap(({ product }) => (product === node ? [] : [labelOf(product)]));
    this.values.emitter.draft.origin = { ...originOf(node), beside };
    if (!lowerProducts(operator, frame, this.values)) return false;
    for (const { nodes } of members) for (const done of nodes) frame.done.add(done);
    return true;
  }

  /** An output that the node names, somebody reads and its operator does not have. */
  #refuseMissing(node: Node, frame: Frame): void {
    for (const [index, output] of node.outputs.entries()) {
      if (output === undefined || !isRead(output, frame)) continue;
      if (this.values.slotOf(output, frame).state.kind === "empty")
        throw nodeError(
          node,
          `output ${index} ("${output.name}") is read, and the runtime does not compute it`,
        );
    }
  }

  #lowerNode(node: Node, frame: Frame): void {
    if (lowerControl(node, frame, this)) return this.#refuseMissing(node, frame);
    if (this.#takeConstant(node, frame)) return;
    if (isConcat(node)) {
      lowerConcat(node, frame, this.values);
      return;
    }
    const lower = own(lowerings, operatorOf(node));
    if (lower === undefined) throw nodeError(node, "the runtime has no kernel for this operator");
    lower(
      new NodeLowering(
        this.values,
        node,
        frame,
        new NodeContext(node, frame.scope, frame.scope.outputsOf(node)),
      ),
    );
    this.#refuseMissing(node, frame);
  }

  /** A tensor in a node's attribute is a weight like any other. */
  #takeConstant(node: Node, frame: Frame): boolean {
    const [output] = node.outputs;
    const tensor = isConstantNode(node) ? tensorAttributeOf(node, "value") : undefined;
    if (output === undefined || tensor === undefined) return false;
    this.values.setWeight(output, tensor, frame);
    return true;
  }

  #lowerMacro(macro: Macro, frame: Frame): void {
    this.values.emitter.draft.origin = originOfMacro(macro);
    macro.lower(new MacroLowering(this.values, macro, frame));
  }
}

/** By a node that is not done with, or outside of the graph. */
function isRead(value: Value, { live, done }: Frame): boolean {
  return live.isSeen(value) || live.readersOf(value).some((reader) => !done.has(reader));
}

function originOf(node: Node): Origin {
  return { label: labelOf(node), operator: operatorOf(node), subject: describeNode(node) };
}

/** Reports name what the nodes are together; an error names one that is in the model. */
function originOfMacro({ name, nodes }: Macro): Origin {
  const last = nodes.at(-1);
  if (last === undefined) throw new Error(`tc-lint bug: ${name} without nodes`);
  const subject = `${describeNode(last)}, fused with ${counted(nodes.length - 1, "other node")} into ${name}`;
  return { label: labelOf(last), operator: name, subject };
}
