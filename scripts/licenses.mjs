// What a bundle owes the packages in it.
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The licenses of the packages that are in the bundles, as they ask, and their names, for the bill of materials. */
export async function licensesOf(metafile) {
  const outputs = Object.values(metafile.outputs);
  const inputs = new Set(outputs.flatMap((output) => Object.keys(output.inputs)));
  const packages = new Set(
    [...inputs].flatMap((input) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? []),
  );
  const names = [];
  const texts = [...packages].sort().map(async (folder) => {
    const { name, version } = JSON.parse(await readFile(join(root, folder, "package.json"), "utf8"));
    names.push(`${name}@${version}`);
    const file = (await readdir(join(root, folder))).find((entry) => /^licen[cs]e/i.test(entry));
    if (file === undefined) throw new Error(`${folder} is bundled, but has no license file`);
    return `${name} ${version}\n\n${(await readFile(join(root, folder, file), "utf8")).trim()}\n`;
  });
  const rule = `\n${"-".repeat(80)}\n\n`;
  return { texts: (await Promise.all(texts)).join(rule), names: names.sort() };
}
