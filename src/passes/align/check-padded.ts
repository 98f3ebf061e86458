/** @file The padded graph inferred from scratch, against what the axes promised. */
import type { Facts } from "../../facts/infer.ts";
import { type Atom, atomsOf, type PaddedSizes } from "../../ir/axis.ts";
import { type Shape, sameDim } from "../../ir/dim.ts";
import { labelOf } from "../../ir/model.ts";
import { paddedFact } from "./padded.ts";
import type { Relations } from "./relate.ts";

/** A value that is not what was foreseen. */
export interface Surprise {
  readonly message: string;
  /** Padded atoms that the value, or the node that failed, has to do with. */
  readonly atoms: readonly Atom[];
}

export function findSurprises(preview: Facts, relations: Relations, sizes: PaddedSizes): readonly Surprise[] {
  const before = new Set(relations.scope.skipped.map(({ node }) => labelOf(node)));
  const failed = preview.skipped
    .filter(({ node }) => !before.has(labelOf(node)))
    .map(({ node, reason }): Surprise => {
      const values = [...node.inputs, ...node.outputs].flatMap((value) => value?.name ?? []);
      return {
        message: `"${labelOf(node)}" does not work on padded sizes: ${reason}`,
        atoms: values.flatMap(atomsNamed),
      };
    });
  return failed.length > 0 ? failed : wrongShapes();

  function atomsNamed(name: string): readonly Atom[] {
    const value = relations.scope.graph.values.get(name);
    const axes = value === undefined ? [] : (relations.axesOf(value) ?? []);
    return axes.flatMap((axis) => atomsOf(axis)).filter((atom) => sizes.has(atom));
  }

  function wrongShapes(): Surprise[] {
    const surprises: Surprise[] = [];
    for (const value of relations.scope.graph.values.values()) {
      const promised = paddedFact(value, relations, sizes);
      const after = preview.root.graph.values.get(value.name);
      const found = after === undefined ? undefined : preview.root.fact(after);
      // An input or output of the model keeps its true shape; its padded form has another name.
      if (value.isInput || value.isOutput || promised?.kind !== "tensor" || found?.kind !== "tensor")
        continue;
      if (promised.shape === undefined || sameShape(promised.shape, found.shape)) continue;
      const message = `"${value.name}" comes out as [${found.shape?.join(",")}], foreseen was [${promised.shape.join(",")}]`;
      surprises.push({ message, atoms: atomsNamed(value.name) });
    }
    return surprises;
  }
}

/** An axis that only running the model would tell is no contradiction. */
function sameShape(promised: Shape, found: Shape | undefined): boolean {
  if (found === undefined || promised.length !== found.length) return false;
  return promised.every((dim, index) => {
    const other = found[index];
    return other !== undefined && (sameDim(dim, other) || typeof dim !== "number");
  });
}
