/** The page to drop a model on, the bytes of its scripts, and esbuild's metafile of what lints. */
export function buildSitePage(): Promise<{
  text: string;
  bytes: { readonly page: number; readonly engine: number; readonly report: number };
  metafile: { inputs: object; outputs: object };
}>;
