import { groupBy } from "../src/lint/graph.ts";
import { type RiskyNode, riskyNodes } from "../src/lint/half-risk.ts";
import { defineRule } from "../src/lint/rule.ts";

/**
 * ## What it does
 * Finds what half precision cannot hold: constants beyond ±65504 or too small for it, masks made of huge numbers (be they computed
 * ahead of time from constants alone, as a causal mask is), and operators that overflow early (Pow and squares, Exp, sums of 256 terms or more). Only where the model runs in FP16 on
 * the target. One finding per kind of risk and operator, with the number of places.
 *
 * ## Why is this bad?
 * The largest finite half is 65504; the smallest with all its bits is 2⁻¹⁴ ≈ 6.1e-5, and below 2⁻²⁵ ≈ 3.0e-8 a number
 * rounds to zero. An epsilon of 1e-12 becomes 0 and no longer guards a division. A mask of -3.4e38 becomes minus
 * infinity: times 0 it is NaN, and a row that is masked everywhere is NaN behind Softmax. x² overflows above 256.
 *
 * Not reported: infinities (half has them), bounds of Clip, Min and Max, small numbers among larger ones in a tensor,
 * exp(x − max x), and what the file keeps in FP32 between half-precision neighbours (TC202). Contents of large weights are not read.
 *
 * ## Example
 * ```onnx
 * masked = Where(mask, scores, -3.4e38)
 * norm = Sqrt(Add(ReduceMean(Pow(x, 2)), 1e-12))
 * ```
 *
 * ## Use instead
 * ```onnx
 * masked = Where(mask, scores, -32752)  # half of the largest: a score beside it stays finite
 * norm = RMSNormalization(x, scale)     # or keep Pow to Sqrt in FP32
 * ```
 *
 * ## Fix safety
 * No fix by itself. Converting to half keeps these places in FP32 unless sample inputs show that their range fits.
 *
 * ## Options
 * `--precision bf16` has the range of FP32: nothing is reported then.
 *
 * ## References
 * - [Half-precision floating-point format](https://en.wikipedia.org/wiki/Half-precision_floating-point_format)
 */
export default defineRule({
  code: "TC203",
  name: "half-overflow-risk",
  severity: "warn",
  fix: "none",
  saves: "nothing",
  messages: {
    mask: "mask of {value} (at {op}, {count} times) becomes -inf in half, NaN where it meets 0 or fills a row: use -32752, to which scores add without overflow",
    overflow: "constant {value} (at {op}, {count} times) is beyond ±65504: infinite in half; keep it in FP32",
    flush: "constant {value} (at {op}, {count} times) rounds to 0 in half; keep it in FP32",
    subnormal:
      "constant {value} (at {op}, {count} times) is subnormal in half: it loses bits; keep it in FP32",
    power:
      "{op} to the power {value} ({count} times) overflows half where a magnitude exceeds {limit}; keep it in FP32",
    exponential: "{op} ({count} times) overflows half where the input exceeds {limit}; keep it in FP32",
    sum: "{op} over up to {value} terms ({count} times) overflows half where their mean magnitude exceeds {limit}; keep it in FP32",
  },
  *check(context) {
    const groups = groupBy(riskyNodes(context), ({ node, risk }) => `${risk.kind} ${node.opType}`);
    for (const group of groups.values()) {
      const worst = group.reduce((a, b) => (severityOf(b) > severityOf(a) ? b : a));
      const { node, risk } = worst;
      const [at = worst] = group;
      const common = { count: group.length, op: node.opType, value: rounded(risk.value) };
      if ("limit" in risk) yield { at, message: risk.kind, data: { ...common, limit: risk.limit } };
      else yield { at, message: risk.kind, data: common };
    }
  },
});

/** A float stored as a double has digits that nobody wrote. */
function rounded(value: number): number {
  return Number(value.toPrecision(4));
}

/** How far beyond the range: larger is worse. */
function severityOf({ risk }: RiskyNode): number {
  const magnitude = Math.abs(risk.value);
  return risk.kind === "flush" || risk.kind === "subnormal" ? 1 / magnitude : magnitude;
}
