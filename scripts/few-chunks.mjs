// What several entries share, in few files. esbuild makes one of every set of entries that share something: a lint loaded 77 files,
// most of them of a few lines, and resolving one takes longer than reading it.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";

/** Of what `most` loads: entries that load that much of it load all of it. */
const nearlyAll = 0.75;
/** Shared code smaller than that goes into one file, which every entry that needs some of it loads as a whole. */
const smallBytes = 16_000;

/**
 * `build(options)`, with a metafile. `most` is the entry that loads nearly everything; small parts of it and of `shared` may be loaded
 * by all entries but `alone`, which stay as they are.
 */
export async function buildFewChunks(options, { alone, most, shared }) {
  const all = { ...options, metafile: true };
  const { metafile } = await build({ ...all, write: false });
  const graph = graphOf(metafile, options);
  const added = new Map();
  const wanted = graph.reached.get(most);
  for (const [entry, files] of graph.reached) {
    if (
      entry === most ||
      graph.size([...wanted].filter((file) => files.has(file))) < nearlyAll * graph.size(wanted)
    )
      continue;
    added.set(entry, [most]);
    graph.reached.set(entry, new Set([...files, ...wanted]));
  }
  const small = smallModules(graph, [most, ...shared], alone);
  for (const [entry, files] of graph.reached)
    if (small.some((file) => files.has(file))) added.set(entry, [...(added.get(entry) ?? []), ...small]);
  return build({ ...all, plugins: [adding(added, options.absWorkingDir)] });
}

/** Which files each entry reaches without `import()`, and what files come to in bytes. */
function graphOf({ inputs, outputs }, { entryPoints }) {
  const imported = (file, isDynamic) =>
    (inputs[file]?.imports ?? [])
      .filter(({ kind, external }) => !external && (kind === "dynamic-import") === isDynamic)
      .map(({ path }) => path);
  const reachable = (start) => {
    const found = new Set([start]);
    for (const file of found) for (const path of imported(file, false)) found.add(path);
    return found;
  };
  const bytes = new Map();
  for (const output of Object.values(outputs))
    for (const [file, { bytesInOutput }] of Object.entries(output.inputs))
      bytes.set(file, (bytes.get(file) ?? 0) + bytesInOutput);
  const size = (files) => [...files].reduce((sum, file) => sum + (bytes.get(file) ?? 0), 0);
  const dynamic = Object.keys(inputs).flatMap((file) => imported(file, true));
  const entries = new Set([...Object.values(entryPoints), ...dynamic]);
  return { reached: new Map([...entries].map((entry) => [entry, reachable(entry)])), reachable, size };
}

/** Of what the `shared` entries load, files that make small chunks; with each all that it needs. */
function smallModules({ reached, reachable, size }, shared, alone) {
  const chunks = new Map();
  for (const file of new Set(shared.flatMap((entry) => [...reached.get(entry)]))) {
    const readers = [...reached.keys()].filter((entry) => reached.get(entry).has(file));
    if (readers.length < 2 || readers.some((entry) => alone.includes(entry))) continue;
    chunks.set(readers.join(), [...(chunks.get(readers.join()) ?? []), file]);
  }
  const small = new Set([...chunks.values()].filter((files) => size(files) < smallBytes).flat());
  const isWhole = (file) => [...reachable(file)].every((each) => small.has(each));
  // Packages come along with whoever imports them.
  return [...small].filter((file) => isWhole(file) && !file.includes("node_modules/"));
}

/** Lets entries import further files behind their own imports: nothing runs in another order. */
function adding(added, root) {
  const files = new Map([...added].map(([entry, paths]) => [join(root, entry), paths]));
  return {
    name: "few-chunks",
    setup(plugin) {
      plugin.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const imports = files.get(path)?.map((file) => `import ${JSON.stringify(join(root, file))};\n`);
        if (imports === undefined) return undefined;
        return { contents: `${await readFile(path, "utf8")}\n${imports.join("")}`, loader: "ts" };
      });
    },
  };
}
