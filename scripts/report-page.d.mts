/** The script of HTML reports, and esbuild's metafile of it. */
export function buildReportPage(): Promise<{ text: string; metafile: { inputs: object; outputs: object } }>;
