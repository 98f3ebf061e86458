/** action.yml against the tables that the code reads, and what the built Action needs. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { inputs, outputs, readInputs } from "../../src/action/inputs.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..", "..");
const lines = readFileSync(path.join(root, "action.yml"), "utf8").split("\n");

/** Entries below a key at the margin: names at two spaces, their keys at four. The file uses no more of YAML than that. */
function entriesOf(section: string): Map<string, Record<string, string>> {
  const found = new Map<string, Record<string, string>>();
  let last: Record<string, string> = {};
  for (const line of lines.slice(lines.indexOf(`${section}:`) + 1)) {
    if (/^\S/.test(line)) break;
    const [, name] = /^ {2}([\w-]+):$/.exec(line) ?? [];
    const [, key, value] = /^ {4}(\w+): (.+)$/.exec(line) ?? [];
    if (name !== undefined) {
      last = {};
      found.set(name, last);
    } else if (key !== undefined && value !== undefined) {
      last[key] = value.startsWith('"') ? JSON.parse(value) : value;
    } else expect(line).toBe("");
  }
  return found;
}

describe("action.yml", () => {
  test("has the inputs that the code reads, with the defaults that it takes", () => {
    const stated = [...entriesOf("inputs")].map(([name, entry]) => [name, entry["default"]]);
    expect(Object.fromEntries(stated)).toEqual(inputs);
    for (const entry of entriesOf("inputs").values()) expect(entry["description"]).toMatch(/^\w.+[^.]$/);
  });

  test("has the outputs that the code sets", () => {
    expect([...entriesOf("outputs").keys()]).toEqual([...outputs]);
  });

  test("is what docs/action.md explains, name by name", () => {
    const page = readFileSync(path.join(root, "docs", "action.md"), "utf8");
    const named = [...page.matchAll(/^\| ((?:`[\w-]+`(?:, )?)+) \|/gm)].flatMap(([, names = ""]) =>
      [...names.matchAll(/`([\w-]+)`/g)].map(([, name]) => name),
    );
    expect(named).toEqual([...Object.keys(inputs), ...outputs]);
  });

  test("runs by Node what the build makes, from the package as it is published", () => {
    expect(lines.join("\n")).toContain("runs:\n  using: node20\n  main: dist/action/index.js\n");
    const manifest = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
    expect(manifest.files).toEqual(expect.arrayContaining(["dist", "action.yml"]));
    // Node takes the bundle for a module by it, in the repository that the Action is used from too.
    expect(manifest.type).toBe("module");
    const kept = readFileSync(path.join(root, "scripts", "hook-repository.mjs"), "utf8");
    expect(kept).toContain('"type"');
  });
});

describe("an input", () => {
  const given = (name: string, value: string) => readInputs({ [`INPUT_${name.toUpperCase()}`]: value });

  test("that is left out is what action.yml says; the token is none", () => {
    expect(readInputs({})).toEqual({
      mode: "review",
      paths: ["."],
      models: "changed",
      failOn: "new",
      comment: true,
      commentName: "models",
      pathMapping: [],
    });
  });

  test("of several lines is a list", () => {
    expect(given("paths", " models/a.onnx\r\n\n  half/**/*.onnx \n").paths).toEqual([
      "models/a.onnx",
      "half/**/*.onnx",
    ]);
    expect(given("path-mapping", "/build/src=src\n").pathMapping).toEqual(["/build/src=src"]);
  });

  test.each([
    ["mode", "post"],
    ["models", "some"],
    ["fail-on", "warning"],
    ["comment", "yes"],
  ])("that nobody knows is named: %s: %s", (name, value) => {
    expect(() => given(name, value)).toThrow(new RegExp(`^${name}: (found )?"${value}"`));
  });
});
