/** @file In which types two files store what their products read. */
import type { Workload } from "./workload.ts";

/** Whether products of both are stored in the same types: of a repair in half and its original they are not. */
export function storeSameTypes(one: Workload, other: Workload): boolean {
  return typesOf(one) === typesOf(other);
}

function typesOf({ products }: Workload): string {
  return [...new Set(products.map(({ sizes }) => sizes.dtype))].sort().join();
}
