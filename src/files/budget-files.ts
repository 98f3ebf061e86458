/** @file Budgets that can hold nothing: a folder that is misspelt has no model, and a run without one that is exceeded looks as if all were kept. */
import { join } from "node:path";
import type { ConfigChain } from "../settings/chain.ts";
import { toDisplayPath } from "../settings/paths.ts";
import { look } from "./look.ts";

/** What a pattern begins with that is one file or folder, wherever it may go from there. */
function fixedPart(pattern: string): string {
  const parts = pattern.split("/");
  const at = parts.findIndex((part) => /[*?[\]{}()!\\]/.test(part));
  return (at < 0 ? parts : parts.slice(0, at)).join("/");
}

/** A sentence for each budget none of whose files are there. */
export function budgetsOfNothing(chain: ConfigChain): string[] {
  const layer = chain.layers.findLast(({ config }) => config.budgets !== undefined);
  return (layer?.config.budgets ?? []).flatMap(({ files = [] }, index) => {
    const patterns = [files].flat();
    const isNowhere = (pattern: string) => look(join(chain.folder, fixedPart(pattern))) === "absent";
    if (layer === undefined || patterns.length === 0 || !patterns.every(isNowhere)) return [];
    const named = patterns.map((pattern) => `"${pattern}"`).join(", ");
    return [`${toDisplayPath(layer.file)}: budgets[${index}] holds no model: ${named} is not there`];
  });
}
