/** @file Tables by text from a file, which may say `constructor` or `__proto__`. */

/** The row of that key; undefined for what every object inherits. */
export function own<Value>(table: Readonly<Record<string, Value>>, key: string): Value | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
