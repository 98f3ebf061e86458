/** @file What is the same from run to run is known by: of all that reports name so, findings, budgets and failures. */
import { Sha256 } from "./sha256.ts";

const hexDigits = 32;

export function fingerprintOf(identity: string): string {
  return new Sha256().update(identity).digest("hex").slice(0, hexDigits);
}
