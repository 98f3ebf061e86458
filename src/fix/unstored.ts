/**
 * @file Files that no fix brings to the half that a target computes in: of codes, or of operators that it has no form of. They are told in the types
 * that they store, by lint as by repairs.
 */
import { invalidNode } from "../facts/invalid-node.ts";
import { isHalf } from "../ir/fix-command.ts";
import type { OpenModel } from "../onnx/open.ts";
import { isLeftByHalf } from "../workload/codes.ts";
import { isMeasured } from "../workload/measured.ts";
import type { Workload } from "../workload/workload.ts";
import { broughtToHalf } from "./decide-unsafe.ts";
import { type FixSettings, unchanged } from "./pipeline.ts";
import { priced } from "./prices.ts";
import { askedInHalf, unlessRefused } from "./storable.ts";

/** The settings, with the half that they ask for where that makes nothing of the model; what only weights could tell is taken to be made. */
export function withUnstored(model: OpenModel, settings: FixSettings): FixSettings {
  const { precision } = settings.target;
  if (!isHalf(precision) || !mayBeLeft(priced(model, settings))) return settings;
  const half = askedInHalf(settings);
  const plain = { ...half, options: { ...half.options, halfIo: false, ranges: undefined } };
  const made = unlessRefused(() => broughtToHalf(unchanged(model), plain));
  return made?.changed === false ? { ...settings, unstored: precision } : settings;
}

/** First opset whose convolutions, pools and recurrent layers there are in BF16. */
const bfloat16Opset = 22;

/** Of most files half precision makes something beyond doubt, and is not asked whether it does: that takes as long as linting. */
function mayBeLeft({ target, model, products, facts, timeline }: Workload): boolean {
  if (products.length === 0 || !isHalf(target.precision) || isMeasured(timeline.steps)) return false;
  const isOld = target.precision === "bf16" && (model.opsets.get("") ?? 1) < bfloat16Opset;
  return (isOld || products.every(isLeftByHalf)) && invalidNode(facts) === null;
}
