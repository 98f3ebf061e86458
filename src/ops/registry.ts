/** @file All operators by name. A family adds itself to its own folder's index. */

import { classicOps } from "./classic/classic.ts";
import { textOps } from "./classic/text.ts";
import { controlOps } from "./control/index.ts";
import { elementwiseOps } from "./elementwise/index.ts";
import { imageOps } from "./image/image.ts";
import { matrixOps } from "./matrix/matrix.ts";
import { microsoftOps } from "./microsoft/index.ts";
import { movementOps } from "./movement/index.ts";
import { normalizationOps } from "./normalization/index.ts";
import type { OpDefinition } from "./op.ts";
import { poolingOps } from "./pooling/index.ts";
import { productOps } from "./product/index.ts";
import { quantizationOps } from "./quantization/index.ts";
import { randomOps } from "./random/random.ts";
import { reductionOps } from "./reduction/index.ts";
import { dataSizedOps } from "./search/data-sized.ts";
import { sequenceOps } from "./sequence/index.ts";
import { fourierOps } from "./signal/fourier.ts";
import { lossOps } from "./training/loss.ts";
import { trainingOps } from "./training/optimizers.ts";

/** By domain and type: a key of both would be text made for every node that is asked about. */
const registry = new Map<string, Map<string, OpDefinition>>();
for (const family of [
  elementwiseOps,
  movementOps,
  reductionOps,
  productOps,
  normalizationOps,
  poolingOps,
  quantizationOps,
  controlOps,
  sequenceOps,
  dataSizedOps,
  matrixOps,
  randomOps,
  fourierOps,
  imageOps,
  lossOps,
  textOps,
  trainingOps,
  classicOps,
  microsoftOps,
]) {
  for (const op of family) {
    const ofDomain = registry.get(op.domain) ?? new Map<string, OpDefinition>();
    registry.set(op.domain, ofDomain);
    if (ofDomain.has(op.type))
      throw new Error(`tc-lint bug: operator ${op.domain}::${op.type} is defined twice`);
    ofDomain.set(op.type, op);
  }
}

/** The description of an operator, or undefined where tc-lint does not know it. `domain` "" is ai.onnx. */
export function findOp(domain: string, type: string): OpDefinition | undefined {
  return registry.get(domain)?.get(type);
}

export function* allOps(): Generator<OpDefinition> {
  for (const ofDomain of registry.values()) yield* ofDomain.values();
}
