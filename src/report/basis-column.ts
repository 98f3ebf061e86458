/** @file What each row of a table rests on, where rows rest on different things: a datasheet's promise is no figure to set beside a measured one. */
import type { ModelReport } from "../lint/result.ts";
import { basisText } from "./entries.ts";

type Based = Pick<ModelReport, "predicted" | "nodes">;
type Basis = ModelReport["predicted"]["basis"];

const words = {
  measured: "fitted",
  kernels: "fitted",
  planned: "planner",
  datasheet: "datasheet",
  profile: "profile",
} as const satisfies Record<Basis, string>;

export const basisColumn = {
  title: "basis",
  alignment: "left",
  text: ({ predicted, nodes }: Based): string => (nodes === 0 ? "" : words[predicted.basis]),
} as const;

/** Whether some rows are a datasheet's, and others are not. */
export function isMixed(models: readonly Based[]): boolean {
  const found = new Set(models.map(basisColumn.text).filter((word) => word !== ""));
  return found.has(words.datasheet) && found.size > 1;
}

/** `basis: datasheet: …; fitted: …`: the column's words. Empty where there is no such column. */
export function basisNote(models: readonly Based[]): string {
  if (!isMixed(models)) return "";
  const bases = new Set(models.flatMap(({ nodes, predicted: { basis } }) => (nodes === 0 ? [] : [basis])));
  const said = [...bases].map((basis) => `${words[basis]}: ${textOf(basis)}`);
  return `basis: ${said.join("; ")}`;
}

function textOf(basis: Basis): string {
  if (basis !== "datasheet") return basisText[basis];
  return `${basisText.datasheet}, which is no figure to compare with those of other rows`;
}
