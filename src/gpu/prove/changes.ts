/** @file What of a repair is measured by itself. */

import type { Piece } from "../../fix/bisect.ts";
import type { FixChoice } from "../../fix/choice.ts";
import { paddedOnce, regionsPaddedOnce } from "../../fix/padded-once.ts";
import type { FixedModel, FixRegion } from "../../fix/pipeline.ts";
import { groupBy } from "../../ir/group.ts";
import type { PassName } from "../../passes/pass.ts";

/** Made or left as one. */
export interface Change {
  readonly pass: PassName;
  readonly what: string;
  readonly places: number;
  readonly pieces: readonly Piece[];
  /** It was asked for by name, and is made whatever it gains. */
  readonly isAsked: boolean;
}

/** Each takes a plan and a measurement of its own. */
const maxRegions = 16;

/**
 * Regions of one shape are one change, and all of a pass that decides as a whole; an axis that is padded in two rounds is one region. The passes in
 * their order.
 */
export function changesOf(
  { parts, regions, notes }: Pick<FixedModel, "parts" | "regions" | "notes">,
  choice: FixChoice,
): Change[] {
  return [...parts].flatMap(([pass]): Change[] => {
    const own = regionsPaddedOnce(regions.filter((region) => region.pass === pass));
    if (own.length > 0) return regionChanges(pass, own);
    const said = paddedOnce(notes.filter((note) => note.pass === pass && note.kind === "changed"));
    const what = said.map(({ message }) => message).join("; ");
    return [{ pass, what, places: 1, pieces: [{ pass, part: undefined }], isAsked: isAsked(pass, choice) }];
  });
}

function isAsked(pass: PassName, { halfOnlyWhereFaster, nhwcOnlyWhereFaster }: FixChoice): boolean {
  return (pass === "half" && !halfOnlyWhereFaster) || (pass === "channels-last" && !nhwcOnlyWhereFaster);
}

/** What is predicted to save least is measured together, where there are many. */
function regionChanges(pass: PassName, regions: readonly FixRegion[]): Change[] {
  const groups = [...groupBy(regions, ({ shape }) => shape).values()];
  const saved = (group: readonly FixRegion[]) =>
    group.reduce((sum, { microseconds }) => sum + microseconds, 0);
  groups.sort((a, b) => saved(b) - saved(a));
  const alone = groups.slice(0, groups.length > maxRegions ? maxRegions - 1 : maxRegions);
  const rest = groups.slice(alone.length).flat();
  const changes = alone.map((group) => changeOf(pass, group[0]?.what ?? "", group));
  return rest.length === 0 ? changes : [...changes, changeOf(pass, "all other padding", rest)];
}

function changeOf(pass: PassName, what: string, group: readonly FixRegion[]): Change {
  const pieces = [...new Set(group.flatMap(({ parts }) => parts))].map((part) => ({ pass, part }));
  return { pass, what, places: group.length, pieces, isAsked: false };
}
