/** @file Work that is done where somebody first asks for it, and never again. */
export function once<T>(work: () => T): () => T {
  let known: { readonly result: T } | undefined;
  return () => {
    known ??= { result: work() };
    return known.result;
  };
}
