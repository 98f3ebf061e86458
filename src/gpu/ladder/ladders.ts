/** @file Every ladder, by name. */
import { attentionWorks } from "./attention.ts";
import { convWorks } from "./conv.ts";
import type { LadderName } from "./report.ts";
import { resampleWorks } from "./resample.ts";
import type { LadderWork } from "./work.ts";

export const ladders: Readonly<Record<LadderName, readonly LadderWork[]>> = {
  conv: convWorks,
  resample: resampleWorks,
  attention: attentionWorks,
};
