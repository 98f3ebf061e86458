/** @file What decoding on the GPU gave beside its reference, ready for JSON. */
import type { DeviceInfo } from "../../../cuda-runtime/driver/driver.ts";
import type { OtherToken } from "../../verify/decode/compare.ts";
import type { DecodePhase } from "../protocol.ts";

export interface DecodeReport {
  readonly model: string;
  readonly precision: string;
  readonly gpu: DeviceInfo;
  readonly driver: string;
  /** What the tokens were compared with: name and version. */
  readonly reference: string;
  /** Every token is the reference's, choices between equals excepted. */
  readonly same: boolean;
  readonly prompt: readonly number[];
  /** The reference's. */
  readonly tokens: readonly number[];
  /** Where the GPU says another one; both go on with the reference's. */
  readonly others: readonly OtherToken[];
  /** A gap between two scores below this share of the largest is a tie. */
  readonly tie: number;
  /** The largest difference of a score, as a share of the largest score of its step; null where a score is no number. */
  readonly largestError: number | null;
  readonly prefill: DecodePhase;
  readonly step: DecodePhase;
  readonly isInPlace: boolean;
  /** Weights that a step reads, over its time: bytes a second, and as a share of what the GPU's memory promises. */
  readonly weightBandwidth: number;
  readonly bandwidthShare: number | undefined;
  readonly seconds: Readonly<Record<string, number>>;
}
