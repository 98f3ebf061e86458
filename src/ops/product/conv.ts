/** @file Conv, ConvInteger and DeformConv: X [N,C,spatial…] with W [M,C/group,spatial…]. */
import type { DType } from "../../ir/dtype.ts";
import { type CodeProduct, defineOp, type OpContext, type OpDefinition } from "../op.ts";
import { asTensor, tensor, tensorAt } from "../shape.ts";
import { computes, half, losesDigits, noHalf, type Traits } from "../traits.ts";
import { type ConvPlaces, convAxes, convLane } from "./conv-axes.ts";
import { convGeometry, convOutputShape, convWork, type Layout } from "./conv-geometry.ts";
import { sharedType } from "./operands.ts";

export interface ConvForm {
  readonly domain: string;
  readonly type: string;
  readonly traits: Traits;
  /** Position of the bias, where the operator has one. */
  readonly biasAt?: number;
  readonly layout?: Layout;
  readonly weightChannels?: "second" | "last";
  /** Of the output, and of the products, where they are not the operands' own. */
  readonly outputType?: DType;
  readonly computeType?: DType;
  /** Whether zeros stand for zero: no codes with a zero point, no offsets into the input. */
  readonly isPlain?: boolean;
  /** Position of an input of the output's shape that is added. */
  readonly residualAt?: number;
  readonly codes?: CodeProduct;
}

/** A convolution with X first and W second, in one of its forms. */
export function convOp(form: ConvForm): OpDefinition {
  const geometryOf = (context: OpContext) =>
    convGeometry(context, {
      x: tensorAt(context, 0),
      w: tensorAt(context, 1),
      bias: form.biasAt === undefined ? undefined : asTensor(context.inputs[form.biasAt]),
      layout: form.layout ?? "nchw",
      weightChannels: form.weightChannels ?? "second",
    });
  const operandType = (context: OpContext) =>
    sharedType("X and W", tensorAt(context, 0), tensorAt(context, 1));
  return defineOp({
    domain: form.domain,
    type: form.type,
    traits: form.traits,
    product: true,
    infer: (context) => [
      tensor(form.outputType ?? operandType(context), convOutputShape(geometryOf(context))),
    ],
    work: (context) => convWork(geometryOf(context), form.computeType ?? operandType(context)),
    ...(form.codes && { codes: form.codes }),
    ...(form.isPlain === true && {
      axes: (context) => convAxes(context, placesIn(form, tensorAt(context, 1).shape?.length ?? 0)),
      lanes: (context) => convLane(context, placesIn(form, tensorAt(context, 1).shape?.length ?? 0)),
    }),
  });
}

/** Where a convolution of this form keeps its channels. */
function placesIn({ layout, weightChannels, biasAt, residualAt }: ConvForm, rank: number): ConvPlaces {
  return {
    channels: layout === "nhwc" ? rank - 1 : 1,
    grouped: 0,
    single: weightChannels === "last" ? rank - 1 : 1,
    transposed: false,
    bias: biasAt,
    residual: residualAt,
  };
}

export const conv = convOp({
  domain: "",
  type: "Conv",
  traits: computes(half(1, 22), {
    layout: "channels",
    turnsToNhwc: true,
    sameSince: 7,
    scale: "weight-second",
  }),
  biasAt: 2,
  isPlain: true,
});

export const convInteger = convOp({
  domain: "",
  type: "ConvInteger",
  traits: computes(noHalf(), { sameSince: 10 }),
  outputType: "int32",
  computeType: "int8",
  codes: { activation: { codes: 0, zero: 2 }, weights: [{ codes: 1, zero: 3 }] },
});

/** Its products are those of the plain convolution; only where X is read differs. Offsets come third, the bias fourth. */
export const deformConv = convOp({
  domain: "",
  type: "DeformConv",
  traits: computes(half(19, 22, { risk: losesDigits("coordinates need more digits than half has") }), {
    sameSince: 19,
  }),
  biasAt: 3,
});
