/** @file SHA-256 at once: what browsers have of it answers later, and on pages served with TLS alone. */
import { Sha256 } from "../../ir/sha256.ts";
import { NotInBrowserError } from "./missing.ts";

export function createHash(algorithm: string): Sha256 {
  if (algorithm !== "sha256") throw new NotInBrowserError(`crypto.createHash of ${algorithm}`);
  return new Sha256();
}
