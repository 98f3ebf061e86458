/** @file The formats of a comparison by name: what writes them is loaded by comparisons alone. */

export const compareFormatNames = ["text", "json", "markdown"] as const;

export type CompareFormat = (typeof compareFormatNames)[number];
