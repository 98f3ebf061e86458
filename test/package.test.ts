import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

/** What someone who installed the package may write. */
const consumer = `
import { InputError, lint, type ModelReport } from "tc-lint";
import { defineConfig } from "tc-lint/config";

export const config = defineConfig({ gpu: "l4", rules: { TC102: "off" } });

export async function count(path: string): Promise<number> {
  try {
    const report: ModelReport = await lint(path, { gpu: "l4", precision: "fp16" });
    return report.findings.filter(({ severity }) => severity !== "info").length;
  } catch (error) {
    if (error instanceof InputError) return -1;
    throw error;
  }
}
`;

describe("The package", () => {
  let folder = "";
  let installed = "";
  const run = (...args: string[]) => spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });

  beforeAll(() => {
    mkdirSync(path.join(root, "out"), { recursive: true });
    // Inside the checkout, so that the dependencies of the package are found in its node_modules.
    folder = mkdtempSync(path.join(root, "out", "package-"));
    installed = path.join(folder, "node_modules", "tc-lint");
    mkdirSync(installed, { recursive: true });
    copyFileSync(path.join(root, "package.json"), path.join(installed, "package.json"));
    const built = run(path.join(root, "scripts", "build.mjs"), `--outdir=${path.join(installed, "dist")}`);
    if (built.status !== 0) throw new Error(`the package does not build:\n${built.stdout}${built.stderr}`);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("has every file that package.json points at", () => {
    const manifest: unknown = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
    const targets = JSON.stringify(manifest).match(/\.\/dist\/[^"]+/g) ?? [];
    expect(targets.length).toBeGreaterThanOrEqual(5);
    expect(targets.filter((target) => !existsSync(path.join(installed, target)))).toEqual([]);
  });

  it("type-checks in a strict project, which it tells of an option that does not exist", () => {
    const check = (name: string, text: string) => {
      writeFileSync(path.join(folder, name), text);
      const compiler = path.join(root, "node_modules", "typescript-native", "bin", "tsc");
      const flags = [
        "--ignoreConfig",
        "--strict",
        "--noEmit",
        "--module",
        "nodenext",
        "--target",
        "es2023",
        "--types",
        "node",
      ];
      return run(compiler, ...flags, "--exactOptionalPropertyTypes", "--skipLibCheck", name);
    };
    const checked = check("consumer.ts", consumer);
    expect(checked.stdout).toBe("");
    expect(checked.status).toBe(0);
    const wrong = check("wrong.ts", consumer.replace('gpu: "l4", rules', 'gpus: "l4", rules'));
    expect(wrong.stdout).toContain("'gpus' does not exist");
  });

  it("lints as a library and as a command", () => {
    const model = path.join(root, "fixtures", "models", "misaligned-cnn.onnx");
    const script = `import { lint, version } from "tc-lint";
      const { error, findings } = await lint(${JSON.stringify(model)});
      console.log(JSON.stringify({ version, error, codes: findings.map(({ code }) => code) }));`;
    const library = run("--input-type=module", "-e", script);
    const found: { version: string; error: unknown; codes: string[] } = JSON.parse(library.stdout);
    expect(found.error).toBeNull();
    expect(found.codes).toContain("TC101");
    const command = run(path.join(installed, "dist", "bin", "tc-lint.js"), "--version");
    expect(command.stdout.trim()).toBe(found.version);
  });

  it("carries the licenses of what it bundles", () => {
    const text = readFileSync(path.join(installed, "dist", "THIRD-PARTY-LICENSES.txt"), "utf8");
    for (const name of ["yargs", "chalk", "cliui", "y18n"])
      expect(text).toMatch(new RegExp(`^${name} \\d`, "m"));
  });
});
