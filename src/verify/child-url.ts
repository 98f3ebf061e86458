/** @file Where the build puts the script of the process that runs models (verify/child.ts). */

/** One folder below dist/, as every bundle is. */
export const verifyChildUrl = new URL("../verify-child.js", import.meta.url);
