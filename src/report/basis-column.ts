/** @file What each row of a table rests on, where rows rest on different things: such figures are no ranking. */
import type { ModelReport } from "../lint/result.ts";
import { basisText } from "./entries.ts";

type Based = Pick<ModelReport, "predicted" | "nodes">;
type Basis = ModelReport["predicted"]["basis"];

const words = {
  measured: "fitted",
  kernels: "fitted",
  planned: "planner",
  scaled: "scaled",
  datasheet: "datasheet",
  profile: "profile",
} as const satisfies Record<Basis, string>;

export const basisColumn = {
  title: "basis",
  alignment: "left",
  text: ({ predicted, nodes }: Based): string => (nodes === 0 ? "" : words[predicted.basis]),
} as const;

/** Whether rows rest on different things, as the column tells them apart. */
export function isMixed(models: readonly Based[]): boolean {
  return new Set(models.map(basisColumn.text).filter((word) => word !== "")).size > 1;
}

/** `basis: datasheet: …; fitted: …; rows of different bases are no ranking`: the column's words, each once. Empty where there is no such column. */
export function basisNote(models: readonly Based[]): string {
  if (!isMixed(models)) return "";
  const bases = new Set(models.flatMap(({ nodes, predicted: { basis } }) => (nodes === 0 ? [] : [basis])));
  const said = new Map([...bases].map((basis) => [words[basis], textOf(basis)]));
  const texts = [...said].map(([word, text]) => `${word}: ${text}`);
  return `basis: ${texts.join("; ")}; figures of different bases are no ranking`;
}

/** Of what is one word in the column, what holds of all of it. */
function textOf(basis: Basis): string {
  return basis === "kernels" ? basisText.measured : basisText[basis];
}
