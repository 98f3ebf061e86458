/** The package as npm installs it from its tarball, used by npx and as a library, in a project that `npm init -y` made. */
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { command, packInto } from "./packed.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
// What it depends on comes from there, or from npm's cache, which the checkout's own installation filled.
const isReachable =
  spawnSync("npm", ["view", "--prefer-offline", "koffi", "version"], { timeout: 30_000 }).status === 0;
if (!isReachable) console.warn("skipped: npm's registry cannot be reached");

describe.skipIf(!isReachable)("tc-lint, installed by npm", () => {
  let project = "";

  beforeAll(() => {
    const folder = mkdtempSync(path.join(tmpdir(), "tc-lint-installed-"));
    project = path.join(folder, "project");
    mkdirSync(project);
    const tarball = packInto(path.join(folder, "staged"));
    command("npm", ["init", "-y"], project);
    command("npm", ["install", "--prefer-offline", "--no-audit", "--no-fund", tarball], project);
    copyFileSync(
      path.join(root, "fixtures/models/misaligned-transformer.onnx"),
      path.join(project, "m.onnx"),
    );
  });
  afterAll(() => rmSync(path.dirname(project), { recursive: true, force: true }));

  const run = (program: string, ...args: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync(program, args, { cwd: project, encoding: "utf8" });
    return { status, stdout, stderr };
  };
  const npx = (...args: readonly string[]) => run("npx", "--no", "--", "tc-lint", ...args);
  const write = (name: string, text: string) => writeFileSync(path.join(project, name), text);

  test("is run by npx", () => {
    expect(npx("--version").stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    const found = npx("m.onnx", "-f", "json", "--max-warnings", "0");
    expect(found.status).toBe(1);
    expect(JSON.parse(found.stdout).models[0]).toMatchObject({ path: "m.onnx", error: null });
    expect(npx("nowhere.onnx").status).toBe(2);
    expect(npx("m.onnx", "--fix", "--no-verify", "--fix-output", "fixed.onnx").stdout).toContain(
      "fixed.onnx",
    );
    expect(existsSync(path.join(project, "fixed.onnx"))).toBe(true);
  });

  test("is a library of modules, and of CommonJS by its import", () => {
    const print = ".then(({ findings }) => console.log(findings.map(({ code }) => code).join()))";
    write("lint.mjs", `import { lint } from "tc-lint";\nlint("m.onnx")${print};\n`);
    write("lint.cjs", `import("tc-lint").then(({ lint }) => lint("m.onnx"))${print};\n`);
    const [modules, scripts] = [run(process.execPath, "lint.mjs"), run(process.execPath, "lint.cjs")];
    expect(modules).toEqual({ status: 0, stderr: "", stdout: expect.stringContaining("TC102") });
    expect(scripts).toEqual(modules);
  });

  test("is a library of TypeScript, which compiles to what runs", () => {
    write(
      "lint.mts",
      `import { type Finding, InputError, lint, type ModelReport } from "tc-lint";
const codesOf = ({ findings }: ModelReport): string[] => findings.map(({ code }: Finding) => code);
const report: ModelReport = await lint("m.onnx", { gpu: "h200", precision: "fp16" });
const missing: unknown = await lint("nowhere.onnx").catch((error: unknown) => error);
export const seen: string = [...codesOf(report), missing instanceof InputError ? missing.code : ""].join();
(globalThis as unknown as { console: { log(text: string): void } }).console.log(seen);
`,
    );
    const compiler = path.join(root, "node_modules/typescript-native/bin/tsc");
    const flags = ["--ignoreConfig", "--strict", "--types", "", "--module", "nodenext", "--target", "es2023"];
    expect(
      run(process.execPath, compiler, ...flags, "--skipLibCheck", "false", "--outDir", "js", "lint.mts"),
    ).toEqual({
      status: 0,
      stdout: "",
      stderr: "",
    });
    const { status, stdout } = run(process.execPath, "js/lint.mjs");
    expect([status, stdout]).toEqual([0, expect.stringMatching(/TC102.*,not-found\n$/)]);
  });
});
