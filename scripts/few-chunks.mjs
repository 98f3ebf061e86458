// What several entries share, in few files. esbuild makes one of every set of entries that share something: a lint loaded 98 files,
// most of them of a few lines, and resolving one takes longer than reading it.
import { readFile, writeFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { build } from "esbuild";

/**
 * What a file costs beside its bytes: as long as reading and parsing this many more. By what comes of it: with 32,000 a lint loads five files
 * more, of as many bytes in all, which takes up to 3 % longer.
 */
const fileBytes = 100_000;
/** Of an entry that every run loads, beside others. */
const oftenWeight = 50;

const isOwn = (file) => file.endsWith(".ts") && !file.includes("node_modules/");

/**
 * `build(options)`, with a metafile. `often` are the entries that nearly every run loads. Others load more than they need where that
 * spares these a file, but not those of `alone`, which stay as they are.
 */
export async function buildFewChunks(options, { alone, often }) {
  const all = { ...options, metafile: true };
  const { metafile } = await build({ ...all, write: false });
  const graph = graphOf(metafile, options);
  const needed = new Map([...graph.reached].map(([entry, files]) => [entry, new Set(files)]));
  for (const [entry, files] of loadedBefore(graph)) graph.add(entry, files);
  mergeChunks(graph, { alone, often });
  const added = new Map();
  for (const [entry, files] of graph.reached) {
    // Packages and JSON come along with whoever imports them.
    const further = [...files].filter((file) => isOwn(file) && !needed.get(entry).has(file));
    if (further.length > 0) added.set(entry, further);
  }
  const built = await build({ ...all, plugins: [adding(added, graph.first, options.absWorkingDir)] });
  await passOver(Object.keys(built.metafile.outputs).map((file) => join(options.absWorkingDir, file)));
  return built;
}

/** All of a file that hands on what another one exports, by the same names; what else it imports, that one does. */
const handingOn = /^import\{([\w$,]+)\}from"\.\/([^"]+)";(?:import"[^"]+";)*export\{\1\};\n$/;

/** What an `import()` names may be part of a chunk: it is imported from there, which spares a file, and waiting for it. */
async function passOver(files) {
  const texts = new Map();
  for (const file of files) texts.set(file, await readFile(file, "utf8"));
  const places = new Map();
  for (const [file, text] of texts) {
    const [, , chunk] = handingOn.exec(text) ?? [];
    if (chunk !== undefined) places.set(basename(file), chunk);
  }
  for (const [file, text] of texts) {
    const direct = text.replace(/(\bimport\("\.[^"]*\/)([^"/]+)"\)/g, (whole, before, name) =>
      places.has(name) ? `${before}${places.get(name)}")` : whole,
    );
    if (direct !== text) await writeFile(file, direct);
  }
}

/** Which files each entry reaches without `import()`, what these come to in bytes, and who imports an entry. */
function graphOf({ inputs, outputs }, { entryPoints }) {
  const imported = (file, isDynamic) =>
    (inputs[file]?.imports ?? [])
      .filter(({ kind, external }) => !external && (kind === "dynamic-import") === isDynamic)
      .map(({ path }) => path);
  const known = new Map();
  const reachable = (start) => {
    const found = known.get(start) ?? new Set([start]);
    if (!known.has(start))
      for (const file of found) for (const path of imported(file, false)) found.add(path);
    known.set(start, found);
    return found;
  };
  const bytes = new Map();
  for (const output of Object.values(outputs))
    for (const [file, { bytesInOutput }] of Object.entries(output.inputs))
      bytes.set(file, (bytes.get(file) ?? 0) + bytesInOutput);
  const size = (files) => [...files].reduce((sum, file) => sum + (bytes.get(file) ?? 0), 0);
  const dynamic = Object.keys(inputs).flatMap((file) => imported(file, true));
  const first = Object.values(entryPoints);
  const importers = new Map();
  for (const file of Object.keys(inputs))
    for (const entry of imported(file, true)) importers.set(entry, [...(importers.get(entry) ?? []), file]);
  const reached = new Map([...first, ...dynamic].map((entry) => [entry, reachable(entry)]));
  const add = (entry, files) => {
    // The first files run as they are loaded: no other loads them.
    for (const file of files) if (!first.includes(file)) reached.get(entry).add(file);
  };
  return { first, importers, reached, reachable, size, add };
}

/**
 * For each entry of an `import()`, what is loaded whoever imports it: esbuild looks at what an entry loads itself, and cuts the code
 * of its importers where that begins.
 */
function loadedBefore({ reached, importers, first }) {
  const everything = new Set([...reached.values()].flatMap((files) => [...files]));
  const before = new Map([...reached.keys()].map((entry) => [entry, everything]));
  for (const entry of first) before.set(entry, new Set());
  const isLoaded = (file, entry) => reached.get(entry).has(file) || before.get(entry).has(file);
  for (let isSettled = false; !isSettled; ) {
    isSettled = true;
    for (const [entry, old] of before) {
      const loaders = [...reached.keys()].filter((each) =>
        importers.get(entry)?.some((file) => reached.get(each).has(file)),
      );
      const files = [...old].filter((file) => loaders.every((loader) => isLoaded(file, loader)));
      if (files.length === old.size) continue;
      before.set(entry, new Set(files));
      isSettled = false;
    }
  }
  return before;
}

/** Lets entries reach more, so that chunks become one: the two that gain most, and again, until no two gain. */
function mergeChunks(graph, { alone, often }) {
  const weightOf = (entry) => (often.includes(entry) ? oftenWeight : 1);
  for (;;) {
    const chunks = chunksOf(graph).filter(({ readers }) => !readers.some((entry) => alone.includes(entry)));
    const isOften = ({ readers }) => readers.some((entry) => often.includes(entry));
    let best = { gain: 0 };
    for (const left of chunks.filter((each) => each.bytes < fileBytes && isOften(each))) {
      for (const right of chunks.filter((each) => each !== left && isOften(each))) {
        const gain = gainOf(left, right, weightOf) + gainOf(right, left, weightOf);
        if (gain > best.gain) best = { gain, left, right };
      }
    }
    if (best.gain === 0) return;
    const { left, right } = best;
    for (const entry of new Set([...left.readers, ...right.readers]))
      graph.add(entry, [...left.needs, ...right.needs]);
  }
}

/** Files by the set of entries that reach them, with all that they need; not the first files, which stay in files of their own. */
function chunksOf({ first, reached, reachable, size }) {
  const readersOf = new Map();
  for (const [entry, files] of reached)
    for (const file of files) readersOf.set(file, [...(readersOf.get(file) ?? []), entry]);
  const chunks = new Map();
  for (const [file, readers] of readersOf) {
    if (first.includes(file)) continue;
    const chunk = chunks.get(readers.join()) ?? { readers, files: [], isReader: new Set(readers) };
    chunk.files.push(file);
    chunks.set(readers.join(), chunk);
  }
  for (const chunk of chunks.values()) {
    chunk.bytes = size(chunk.files);
    chunk.needs = new Set(chunk.files.flatMap((file) => [...reachable(file)]));
    chunk.with = [...chunks.values()].filter(({ files }) => files.some((file) => chunk.needs.has(file)));
  }
  return [...chunks.values()];
}

/** In bytes, for the readers of `left`: half of the file spared to who reads both, less what the others would load of `right`. */
function gainOf(left, right, weightOf) {
  let gain = 0;
  for (const entry of left.readers) {
    const further = right.isReader.has(entry)
      ? []
      : right.with.filter(({ isReader }) => !isReader.has(entry));
    const more = further.reduce((sum, { bytes }) => sum + bytes + fileBytes, 0);
    gain += weightOf(entry) * (further.length === 0 ? fileBytes / 2 : fileBytes - more);
  }
  return gain;
}

/**
 * Lets entries import further files behind their own imports: nothing runs in another order. What an `import()` names gets a module of
 * its own for that, since others may import the same file at their start.
 */
function adding(added, first, root) {
  const namespace = "imported-later";
  const imports = (entry) => added.get(entry).map((file) => `import ${JSON.stringify(join(root, file))};\n`);
  return {
    name: "few-chunks",
    setup(plugin) {
      plugin.onResolve({ filter: /\.ts$/ }, ({ kind, path, resolveDir }) => {
        const entry = relative(root, resolve(resolveDir, path));
        return kind === "dynamic-import" && added.has(entry) ? { path: entry, namespace } : undefined;
      });
      plugin.onLoad({ filter: /^/, namespace }, ({ path }) => {
        const whole = `export * from ${JSON.stringify(join(root, path))};\n`;
        return { contents: whole + imports(path).join(""), loader: "ts", resolveDir: root };
      });
      plugin.onLoad({ filter: /\.ts$/ }, async ({ path }) => {
        const entry = relative(root, path);
        if (!first.includes(entry) || !added.has(entry)) return undefined;
        return { contents: [await readFile(path, "utf8"), ...imports(entry)].join("\n"), loader: "ts" };
      });
    },
  };
}
