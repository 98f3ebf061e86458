// Brings what most runs never load behind one function of the program: V8 takes no note of the functions in it before it is called, neither
// in the code that is kept between runs nor in the heap (docs/adr/0051-modules-set-apart.md).

/** As esbuild writes `import()` of a module that is in the bundle. */
const imported =
  /Promise\.resolve\(\)\.then\(\(\) => (\((init_\w+)\(\), \w+_exports\)|__toESM\((require_\w+)\(\)\))\)/g;

/**
 * The text of a bundle whose white space esbuild left as it is, so that each module begins with a comment that names it. `early` are modules that are
 * imported by `import()` and needed by most runs; what only other such imports lead to is set apart.
 */
export function setApart(text, inputs, entry, early) {
  const kept = reachedFrom(entry, inputs, early);
  const [core, apart] = [[], []];
  let into = core;
  for (const line of text.split("\n")) {
    const name = line.startsWith("// ") ? line.slice(3) : "";
    if (inputs[name] !== undefined) into = kept.has(name) ? core : apart;
    into.push(line);
  }
  const rest = apart.join("\n");
  const declared = new Set([...rest.matchAll(/\b(\w+) = __(?:esm|commonJS)\(/g)].map(([, name]) => name));
  const loads = [];
  const linked = core.join("\n").replace(imported, (site, load, init, required) => {
    if (!declared.has(init ?? required)) return site;
    loads.push(load);
    return `Promise.resolve().then(() => setApart()[${loads.length - 1}]())`;
  });
  const missed = [...linked.matchAll(/\b(?:init|require)_\w+(?=\(\))/g)].find(([name]) => declared.has(name));
  if (missed !== undefined) throw new Error(`set-apart: ${missed[0]} is called by what is not set apart`);
  const list = loads.map((load) => `() => ${load}`).join(", ");
  return `${linked}\nvar apartOnce;\nfunction setApart() {\n  return apartOnce ??= modulesApart();\n}\nfunction modulesApart() {\n${rest}\nreturn [${list}];\n}\n`;
}

/** Modules that are loaded with `entry`, and with those of `early` that are then imported. */
function reachedFrom(entry, inputs, early) {
  const reached = new Set();
  const pending = [entry];
  for (let name = pending.pop(); name !== undefined; name = pending.pop()) {
    if (reached.has(name) || inputs[name] === undefined) continue;
    reached.add(name);
    for (const { path, kind } of inputs[name].imports)
      if (kind !== "dynamic-import" || early.has(path)) pending.push(path);
  }
  return reached;
}
