import type { Metafile } from "esbuild";

export function setApart(
  text: string,
  inputs: Metafile["inputs"],
  entry: string,
  early: ReadonlySet<string>,
): string;
