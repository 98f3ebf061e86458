/** @file Activations that com.microsoft names in an attribute of the operator before them. */
import { activations, isActivation } from "../../src/ir/activations.ts";
import type { Expr } from "../ir/expr.ts";
import { activated } from "./activation.ts";
import type { LowerContext } from "./context.ts";

/** What the attribute `name` asks for, with its parameters in `name_alpha` and `name_beta`; undefined for nothing. */
export function fusedActivation(context: LowerContext, name: string): ((x: Expr) => Expr) | undefined {
  const kind = context.string(name) ?? "";
  if (kind === "") return undefined;
  if (!isActivation(kind))
    return context.fail(`fuses the activation ${kind}, which is none that the runtime knows`);
  const [alpha, beta] = [context.float(`${name}_alpha`), context.float(`${name}_beta`)];
  return (x) => activated(activations[kind], x, alpha, beta);
}
