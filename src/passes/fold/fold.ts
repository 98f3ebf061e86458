/**
 * @file The folding pass: what needs no computing, or no node of its own, goes before the other passes look.
 *
 * Works on one draft until no rule finds anything more: every rule removes a node or lets one read from further up,
 * so that comes to an end. The patch is the difference.
 */
import { counted } from "../../ir/format.ts";
import { labelOf } from "../../ir/model.ts";
import { Patch } from "../../ir/patch.ts";
import type { Pass, PassContext, PassNote, PassResult } from "../pass.ts";
import { alias } from "./alias.ts";
import { foldBatchNorms } from "./batch-norm.ts";
import { shorten } from "./chains.ts";
import { mergeEqual } from "./common.ts";
import { foldConstants } from "./constants.ts";
import { deadInitializers, removeDeadNodes } from "./dead.ts";
import { Draft } from "./draft.ts";
import { sourceOf } from "./identities.ts";
import { writePatch } from "./write.ts";

export const fold: Pass = { name: "fold", safe: true, isOfModelAlone: true, run: runFold };

/** Operators of the nodes that a rule changed. */
interface Changes {
  readonly computed: string[];
  readonly merged: string[];
  readonly passedOn: string[];
  readonly shortened: string[];
  readonly dead: string[];
}

function runFold({ model, facts, names, open, leftOut }: PassContext): PassResult {
  if (model.hasTraining) {
    const message = "nothing is folded: the training information of the model may refer to any value";
    return { patch: new Patch(), notes: [{ kind: "kept", node: undefined, message }] };
  }
  const draft = new Draft({ model, scope: facts.root, names, open, leftOut });
  const changes: Changes = { computed: [], merged: [], passedOn: [], shortened: [], dead: [] };
  const rounds: PassNote[][] = [];
  for (let isChanging = true; isChanging; ) {
    const isMerged = mergeEqual(draft, changes.merged);
    const isComputed = foldConstants(draft, changes.computed);
    const folded = foldBatchNorms(draft).filter(({ kind }) => kind === "changed");
    const isDead = removeDeadNodes(draft, changes.dead);
    rounds.push(folded);
    isChanging = simplify(draft, changes) || isMerged || isComputed || isDead || folded.length > 0;
  }
  // Those that are left, each with its reason.
  rounds.push(foldBatchNorms(draft));
  return {
    patch: writePatch(draft, new Set(deadInitializers(draft))),
    notes: [...notesOf(changes), ...rounds.flat()],
    parts: [...draft.removed, ...draft.edits.keys()].map(labelOf),
  };
}

/** One walk over the nodes. Whether anything changed. */
function simplify(draft: Draft, { passedOn, shortened }: Changes): boolean {
  let isChanged = false;
  for (const node of draft.nodes) {
    if (!draft.isStandard(node)) continue;
    const source = sourceOf(draft, node);
    if (source !== undefined && alias(draft, node, source)) {
      passedOn.push(node.opType);
      isChanged = true;
    } else if (shorten(draft, node)) {
      shortened.push(node.opType);
      isChanged = true;
    }
  }
  return isChanged;
}

function notesOf({ computed, merged, passedOn, shortened, dead }: Changes): PassNote[] {
  const said: readonly (readonly [what: string, operators: readonly string[]])[] = [
    ["computed ahead", computed],
    ["merged with a common subexpression", merged],
    ["removed as identities", passedOn],
    ["combined with the node before", shortened],
    ["removed as dead code", dead],
  ];
  return said.flatMap(([what, operators]) => {
    if (operators.length === 0) return [];
    const message = `${counted(operators.length, "node")} ${what}: ${tally(operators)}`;
    return [{ kind: "changed" as const, node: undefined, message }];
  });
}

/** `Shape 12, Gather 10`, the most frequent first. */
function tally(operators: readonly string[]): string {
  const counts = new Map<string, number>();
  for (const operator of operators) counts.set(operator, (counts.get(operator) ?? 0) + 1);
  return [...counts]
    .toSorted(([, a], [, b]) => b - a)
    .map(([operator, count]) => `${operator} ${count}`)
    .join(", ");
}
