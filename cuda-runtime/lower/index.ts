/** @file All lowerings by operator. A family adds its tables here. */

import { activationLowerings, splitActivationLowerings } from "./activation.ts";
import { attentionLowerings } from "./attention.ts";
import { castLowerings } from "./cast.ts";
import type { Lower, LowerTable } from "./context.ts";
import { convLowerings } from "./conv.ts";
import { directConvLowerings } from "./conv-direct.ts";
import { elementwiseOps } from "./elementwise.ts";
import { indexLowerings, triluLowerings } from "./elementwise-index.ts";
import { fourierLowerings } from "./fourier.ts";
import { lossLowerings } from "./loss.ts";
import { matrixLowerings } from "./matrix.ts";
import { movementLowerings } from "./movement.ts";
import { normalizationLowerings } from "./normalization.ts";
import { orderLowerings } from "./order.ts";
import { poolingLowerings } from "./pooling.ts";
import { codePoolingLowerings } from "./pooling-codes.ts";
import { productLowerings } from "./product.ts";
import { dynamicQuantizeLowerings, quantizeLowerings } from "./quantize.ts";
import { recurrentLowerings } from "./recurrent.ts";
import { reductionLowerings } from "./reduction.ts";
import { refusedLowerings } from "./refused.ts";
import { rotaryLowerings } from "./rotary.ts";

/** Operators computed element by element: their results are expressions, fused with what is around them. */
export const elementwiseLowerings: LowerTable = merged([
  elementwiseOps,
  activationLowerings,
  castLowerings,
  quantizeLowerings,
  triluLowerings,
]);

export const lowerings: LowerTable = merged([
  elementwiseLowerings,
  splitActivationLowerings,
  indexLowerings,
  dynamicQuantizeLowerings,
  rotaryLowerings,
  reductionLowerings,
  orderLowerings,
  matrixLowerings,
  fourierLowerings,
  lossLowerings,
  refusedLowerings,
  movementLowerings,
  recurrentLowerings,
  productLowerings,
  convLowerings,
  directConvLowerings,
  poolingLowerings,
  codePoolingLowerings,
  normalizationLowerings,
  attentionLowerings,
]);

function merged(tables: readonly LowerTable[]): LowerTable {
  const all: Record<string, Lower> = {};
  for (const table of tables) {
    for (const [operator, lower] of Object.entries(table)) {
      if (all[operator] !== undefined) throw new Error(`tc-lint bug: ${operator} is lowered twice`);
      all[operator] = lower;
    }
  }
  return all;
}
