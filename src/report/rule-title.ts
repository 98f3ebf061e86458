/** @file A rule by its code and name; one of a plugin has a code that says both. */

export function ruleTitle(code: string, name: string): string {
  return code === name ? code : `${code} ${name}`;
}

/** What stands behind a code that is set apart: ` misaligned-gemm`, or nothing. */
export function nameBehind(code: string, name: string): string {
  return code === name ? "" : ` ${name}`;
}
