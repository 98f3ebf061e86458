/** @file One node of every operator that says something of padded axes, in the forms that matter to padding. */
import { binary, unary } from "./contract-lanewise.ts";
import { movement, reductions } from "./contract-movement.ts";
import type { Cases } from "./contract-operands.ts";
import { microsoft, nhwc, normalizations, products } from "./contract-products.ts";
import type { ContractCase } from "./contracts.ts";

const inDomain = (domain: string, cases: Cases) =>
  Object.entries(cases).map(([type, list]): [string, readonly ContractCase[]] => [
    `${domain}::${type}`,
    list,
  ]);

/** By domain and type. */
export const contractCases: ReadonlyMap<string, readonly ContractCase[]> = new Map([
  ...inDomain("", { ...unary, ...binary, ...movement, ...reductions, ...products, ...normalizations }),
  ...inDomain("com.microsoft", microsoft),
  ...inDomain("com.ms.internal.nhwc", nhwc),
]);

/** What the CPU provider of the installed ONNX Runtime does not have, in any form here. */
export const cpuLacks: ReadonlySet<string> = new Set([
  "::SwiGLU",
  ...["BiasAdd", "LayerNormalization", "NhwcConv", "NhwcFusedConv", "SimplifiedLayerNormalization"].map(
    (type) => `com.microsoft::${type}`,
  ),
  ...Object.keys(nhwc).map((type) => `com.ms.internal.nhwc::${type}`),
]);
