/**
 * @file The pass of plugins: what their rules' fixes say becomes of the nodes that they found. As the built-in passes it is priced, and
 * proven by whoever runs it.
 */
import { type Facts, inferFacts } from "../../facts/infer.ts";
import { invalidNode } from "../../facts/invalid-node.ts";
import type { Scope } from "../../facts/scope.ts";
import { sameDim } from "../../ir/dim.ts";
import type { Edits } from "../../ir/edits.ts";
import { InputError } from "../../ir/errors.ts";
import { counted } from "../../ir/format.ts";
import { labelOf, type Node, type Value } from "../../ir/model.ts";
import { Patch } from "../../ir/patch.ts";
import type { Pass, PassContext, PassNote, PassResult } from "../pass.ts";
import { MatchEdits, operatorsOf, partOf } from "./match-edits.ts";

/** A place that a rule found, and what its fix does there. */
export interface FoundPlace {
  readonly root: Node;
  readonly nodes: readonly Node[];
  readonly edit: (edits: Edits) => void;
}

/** A rule that has a fix. */
export interface Rewriter {
  readonly code: string;
  /** What is wrong with its fix, as an error that names it. */
  readonly failed: (model: string, node: Node | undefined, what: string, cause?: unknown) => InputError;
  readonly rewrites: (scope: Scope, sizes: ReadonlyMap<string, number>) => Iterable<FoundPlace>;
}

/** Its patch is of the main graph: a function's body is shared by its calls. */
export function customPass(rewriters: readonly Rewriter[]): Pass {
  return { name: "plugins", safe: true, run: (context) => new Rewriting(context).run(rewriters) };
}

/** What a rule would do, all in all. */
interface Proposal {
  readonly rewriter: Rewriter;
  readonly places: readonly { readonly place: FoundPlace; readonly edits: MatchEdits }[];
}

class Rewriting {
  readonly #context: PassContext;
  readonly #taken = new Set<Node>();

  constructor(context: PassContext) {
    this.#context = context;
  }

  run(rewriters: readonly Rewriter[]): PassResult {
    const patch = new Patch();
    const notes: PassNote[] = [];
    const parts: string[] = [];
    const rewritten: string[] = [];
    if (this.#context.model.hasTraining) {
      const message = "no plugin changes it: the training information of the model may refer to any value";
      return { patch, notes: [{ kind: "kept", node: undefined, message }] };
    }
    for (const rewriter of rewriters) {
      const proposal = this.#proposed(rewriter);
      if (proposal.places.length === 0) continue;
      const own = new Patch();
      this.#add(proposal, own);
      this.#check(proposal, own);
      const saved = this.#context.savingOf(own);
      if (this.#context.pricing.mustGain && !(saved.low > 0)) {
        notes.push(keptNote(proposal));
        continue;
      }
      this.#add(proposal, patch);
      for (const { place } of proposal.places) {
        for (const node of place.nodes) {
          this.#taken.add(node);
          rewritten.push(labelOf(node));
        }
        parts.push(partOf(rewriter.code, place.root));
      }
      notes.push(changedNote(proposal, saved.microseconds));
    }
    return { patch, notes, parts, rewritten };
  }

  /** Places that no other fix changes: those that lie across each other wait for the next round. */
  #proposed(rewriter: Rewriter): Proposal {
    const { facts, pricing, names, leftOut } = this.#context;
    const own = new Set<Node>();
    const places: { place: FoundPlace; edits: MatchEdits }[] = [];
    for (const place of rewriter.rewrites(facts.root, pricing.bindings)) {
      if (leftOut?.(partOf(rewriter.code, place.root)) !== undefined) continue;
      if (place.nodes.some((node) => this.#taken.has(node) || own.has(node))) continue;
      const edits = new MatchEdits(place.nodes, names);
      place.edit(edits);
      if (edits.isEmpty) continue;
      for (const node of place.nodes) own.add(node);
      places.push({ place, edits });
    }
    return { rewriter, places };
  }

  #add({ rewriter, places }: Proposal, patch: Patch): void {
    const { model } = this.#context;
    for (const { place, edits } of places) {
      try {
        edits.apply(patch.of(model.graph));
      } catch (error) {
        throw rewriter.failed(
          model.path,
          place.root,
          error instanceof Error ? error.message : String(error),
          error,
        );
      }
      for (const domain of edits.domains) if (!model.opsets.has(domain)) patch.opsets.set(domain, 1);
    }
  }

  /** Whether the result is a model, whose values are of the types and shapes that they were. Throws InputError naming the rule. */
  #check({ rewriter, places }: Proposal, patch: Patch): void {
    const { model, facts } = this.#context;
    const [first] = places;
    const fail = (node: Node | undefined, what: string, cause?: unknown) =>
      rewriter.failed(model.path, node, `its fix makes no valid model: ${what}`, cause);
    let after: Facts;
    try {
      after = inferFacts(this.#context.patched(patch));
    } catch (error) {
      if (error instanceof InputError) throw fail(first?.place.root, error.message, error);
      throw error;
    }
    const invalid = invalidNode(after);
    if (invalid !== null) throw fail(first?.place.root, invalid.message);
    for (const { place } of places) {
      for (const value of place.root.outputs) {
        const what = value === undefined ? undefined : difference(value, facts.root, after.root);
        if (what !== undefined) throw fail(place.root, what);
      }
    }
  }
}

function difference(value: Value, before: Scope, after: Scope): string | undefined {
  const now = after.graph.values.get(value.name);
  const [old, fresh] = [before.fact(value), now && after.fact(now)];
  if (old?.kind !== "tensor" || fresh?.kind !== "tensor") return undefined;
  if (old.dtype !== undefined && fresh.dtype !== undefined && old.dtype !== fresh.dtype)
    return `"${value.name}" is ${old.dtype}, and would be ${fresh.dtype}`;
  if (old.shape === undefined || fresh.shape === undefined) return undefined;
  const { shape } = fresh;
  const isSame =
    shape.length === old.shape.length &&
    old.shape.every((dim, index) => {
      const other = shape[index];
      // Expressions may be equal without looking it.
      return typeof dim !== "number" || typeof other !== "number" || sameDim(dim, other);
    });
  return isSame
    ? undefined
    : `"${value.name}" is [${old.shape.map(String).join(", ")}], and would be [${shape.map(String).join(", ")}]`;
}

function placesOf({ places }: Proposal): string {
  const [first] = places;
  return `${operatorsOf(first?.place.nodes ?? [])} in ${counted(places.length, "place")}`;
}

function nodeOf({ places: [first, ...more] }: Proposal): Node | undefined {
  return more.length === 0 ? first?.place.root : undefined;
}

function changedNote(proposal: Proposal, microseconds: number): PassNote {
  const message = `${proposal.rewriter.code}: ${placesOf(proposal)} rewritten`;
  return { kind: "changed", node: nodeOf(proposal), message, microseconds };
}

function keptNote(proposal: Proposal): PassNote {
  const message = `${proposal.rewriter.code}: ${placesOf(proposal)} left: the rewrite may save no time`;
  return { kind: "kept", node: nodeOf(proposal), message };
}
