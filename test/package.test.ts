import { spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildFakeCuda } from "./cuda-runtime/fake-cuda.ts";
import { writeInline } from "./fix/models.ts";
import { command, packInto } from "./packed.ts";

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");

/** What someone who installed the package may write. */
const consumer = `
import { InputError, lint, type ModelReport } from "tc-lint";
import { defineConfig } from "tc-lint/config";
import { definePlugin, defineRule, RuleTester } from "tc-lint/rules";

export const plugin = definePlugin({
  name: "acme",
  rules: [
    defineRule({
      name: "twice",
      severity: "warn",
      messages: { found: "{op} twice" },
      match: (p) => p.op("Conv", { x: p.any(), w: p.const() }, { as: "conv" }).then("Relu", { only: true }),
      report: (match) => ({ message: "found", data: { op: match.node("conv").opType } }),
      cost: (match, cost) => cost.removed(match.root),
      fix: (match, edits) => edits.replace(match.root, { op: "Relu", inputs: [match.value("x")] }),
    }),
  ],
});
export const tested = (path: string) => new RuleTester().run(plugin.rules[0]!, { valid: [path] });

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

/** Whoever installs the package gets these, and what they depend on in turn. */
function installedWith(manifest: string): string[] {
  const found = new Set<string>();
  const visit = (file: string) => {
    const parsed: Manifest = JSON.parse(readFileSync(file, "utf8"));
    for (const name of Object.keys(parsed.dependencies ?? {})) {
      if (found.has(name)) continue;
      found.add(name);
      visit(path.join(root, "node_modules", name, "package.json"));
    }
  };
  visit(manifest);
  return [...found].sort();
}

/** The part of CycloneDX that is looked at. */
interface Bill {
  readonly bomFormat: string;
  readonly metadata: { readonly component: { readonly name: string; readonly "bom-ref": string } };
  readonly components: readonly { readonly "bom-ref": string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
}

describe("The package", () => {
  let folder = "";
  let installed = "";
  const run = (...args: string[]) => spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  const model = path.join(root, "fixtures", "models", "misaligned-cnn.onnx");

  beforeAll(() => {
    // Outside the checkout, where nothing is found but what the package brings along.
    folder = mkdtempSync(path.join(tmpdir(), "tc-lint-package-"));
    const tarball = packInto(path.join(folder, "staged"));
    installed = path.join(folder, "node_modules", "tc-lint");
    mkdirSync(installed, { recursive: true });
    command("tar", ["-xzf", tarball, "-C", installed, "--strip-components=1"], folder);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** In a strict project of its own. */
  const typeCheck = (name: string, text: string) => {
    writeFileSync(path.join(folder, name), text);
    const compiler = path.join(root, "node_modules", "typescript-native", "bin", "tsc");
    const flags = ["--ignoreConfig", "--strict", "--noEmit", "--module", "nodenext", "--target", "es2023"];
    const types = ["--types", "node", "--typeRoots", path.join(root, "node_modules", "@types")];
    return run(compiler, ...flags, ...types, "--exactOptionalPropertyTypes", name);
  };

  it("has every file that package.json points at", () => {
    const manifest: unknown = JSON.parse(readFileSync(path.join(root, "package.json"), "utf8"));
    const targets = JSON.stringify(manifest).match(/\.\/dist\/[^"]+/g) ?? [];
    expect(targets.length).toBeGreaterThanOrEqual(5);
    expect(targets.filter((target) => !existsSync(path.join(installed, target)))).toEqual([]);
  });

  it("type-checks in a strict project, which it tells of an option that does not exist", () => {
    const checked = typeCheck("consumer.ts", consumer);
    expect(checked.stdout).toBe("");
    expect(checked.status).toBe(0);
    const wrong = typeCheck("wrong.ts", consumer.replace('gpu: "l4", rules', 'gpus: "l4", rules'));
    expect(wrong.stdout).toContain("'gpus' does not exist");
    const misnamed = typeCheck("misnamed.ts", consumer.replace('match.value("x")', 'match.value("y")'));
    expect(misnamed.stdout).toMatch(/misnamed\.ts\(16.*'"y"' is not assignable/);
  });

  it("type-checks where there are no types of Node and no libraries of ESNext, its own declarations too", () => {
    writeFileSync(path.join(folder, "plain.mts"), consumer);
    const compiler = path.join(root, "node_modules", "typescript-native", "bin", "tsc");
    const base = ["--ignoreConfig", "--strict", "--noEmit", "--skipLibCheck", "false", "--types", ""];
    const libraries = ["--target", "es2022", "--lib", "es2022"];
    for (const modules of [
      ["--module", "nodenext"],
      ["--module", "esnext", "--moduleResolution", "bundler", "--exactOptionalPropertyTypes"],
    ]) {
      const checked = run(compiler, ...base, ...libraries, ...modules, "plain.mts");
      expect([checked.stdout, checked.status]).toEqual(["", 0]);
    }
  });

  it("has a README, pages and a changelog whose links lead somewhere", () => {
    const pages = readdirSync(installed, { recursive: true, encoding: "utf8" }).filter((name) =>
      name.endsWith(".md"),
    );
    expect(pages).toEqual(expect.arrayContaining(["README.md", "CHANGELOG.md", "docs/rules/TC101.md"]));
    const dead = pages.flatMap((name) =>
      linksIn(readFileSync(path.join(installed, name), "utf8"))
        .filter((link) => !existsSync(path.join(installed, path.dirname(name), link)))
        .map((link) => `${name}: ${link}`),
    );
    expect(dead).toEqual([]);
  });

  it("lints as a library and as a command", () => {
    const script = `import { lint, version } from "tc-lint";
      const { error, findings } = await lint(${JSON.stringify(model.replace("cnn", "transformer"))});
      console.log(JSON.stringify({ version, error, codes: findings.map(({ code }) => code) }));`;
    const library = run("--input-type=module", "-e", script);
    const found: { version: string; error: unknown; codes: string[] } = JSON.parse(library.stdout);
    expect(found.error).toBeNull();
    expect(found.codes).toContain("TC102");
    const command = run(path.join(installed, "dist", "bin", "tc-lint.js"), "--version");
    expect(command.stdout.trim()).toBe(found.version);
  });

  it("brings nothing along but the loader of native libraries", () => {
    const names = installedWith(path.join(installed, "package.json"));
    expect(names).toEqual(["koffi"]);
    // What a bundle imports is there, is Node's, or is asked for where it is used.
    const wanted = readdirSync(path.join(installed, "dist"), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".js") || name.endsWith(".d.ts"))
      .flatMap((name) => packagesIn(readFileSync(path.join(installed, "dist", name), "utf8")));
    expect([...new Set(wanted)].sort()).toEqual(["koffi", "onnxruntime-node"]);
  });

  it("lints a ModelProto of a user's own onnx-proto, decoded or plain, as it lints the file", () => {
    const onnxProto = pathToFileURL(path.join(root, "node_modules", "onnx-proto", "dist", "onnx.js")).href;
    const script = `import { readFileSync } from "node:fs";
      import { lint } from "tc-lint";
      import proto from ${JSON.stringify(onnxProto)};
      const bytes = readFileSync(${JSON.stringify(model.replace("cnn", "transformer"))});
      const decoded = proto.onnx.ModelProto.decode(bytes);
      const plain = proto.onnx.ModelProto.toObject(decoded);
      const reports = await Promise.all([bytes, decoded, plain].map((input) => lint(input)));
      console.log(JSON.stringify(reports));`;
    const { stdout, stderr } = run("--input-type=module", "-e", script);
    expect(stderr).toBe("");
    const [bytes, decoded, plain]: { findings: unknown[] }[] = JSON.parse(stdout);
    expect(bytes?.findings.length).toBeGreaterThan(0);
    expect(decoded).toEqual(bytes);
    expect(plain).toEqual(bytes);
  });

  describe("as docs/library.md uses it", () => {
    const page = readFileSync(path.join(root, "docs", "library.md"), "utf8");
    const examples = [...page.matchAll(/^## (\w+)\n\n```ts\n(.*?)^```$/gms)].map(
      ([, name = "", text = ""]) => ({ name, text }),
    );
    const fake = buildFakeCuda();
    afterAll(() => {
      if (fake !== undefined) rmSync(fake.folder, { recursive: true, force: true });
    });

    beforeAll(() => {
      writeInline(folder);
      // The optional peer, and what npm would install beside the package.
      for (const name of ["onnxruntime-node", "onnxruntime-common", "koffi", "@koromix"])
        symlinkSync(path.join(root, "node_modules", name), path.join(folder, "node_modules", name));
      const kernels = path.join(installed, "dist", "cuda");
      mkdirSync(kernels);
      for (const family of readdirSync(path.join(root, "cuda-runtime", "kernels")))
        writeFileSync(path.join(kernels, `${family}.fatbin`), "FAKE");
    });

    it("has an example of every function that a command has", () => {
      expect(examples.map(({ name }) => name)).toEqual([
        "lint",
        "fix",
        "verify",
        "compare",
        "rules",
        "plan",
        "bench",
        "validate",
      ]);
    });

    it.each(examples)("$name type-checks", ({ name, text }) => {
      const checked = typeCheck(`${name}-example.mts`, text);
      expect([checked.stdout, checked.status]).toEqual(["", 0]);
    });

    it.each(examples.filter(({ name }) => fake !== undefined || !["bench", "validate"].includes(name)))(
      "$name runs",
      ({ name, text }) => {
        const file = path.join(folder, `${name}-example.mjs`);
        writeFileSync(file, text);
        const env = {
          ...process.env,
          LD_LIBRARY_PATH: fake?.folder ?? "",
          XDG_CACHE_HOME: fake?.folder ?? folder,
          FAKE_CUDA_ANY: "1",
          FAKE_CUDA_NAME: "NVIDIA H200",
        };
        const { status, stdout, stderr } = spawnSync(process.execPath, [file], {
          cwd: folder,
          env,
          encoding: "utf8",
        });
        expect([stderr, status]).toEqual(["", 0]);
        expect(stdout).not.toBe("");
        expect(stdout).not.toContain("undefined");
      },
    );
  });

  it("writes a repaired model", () => {
    const fixed = path.join(folder, "fixed.onnx");
    const args = [model, "--fix-only", "--fix", "--no-verify", "--fix-output", fixed];
    const { status, stderr } = run(path.join(installed, "dist", "bin", "tc-lint.js"), ...args);
    expect(stderr).not.toContain("bug");
    expect(status).toBe(0);
    const again = run(
      path.join(installed, "dist", "bin", "tc-lint.js"),
      fixed,
      "--select",
      "misaligned-gemm",
    );
    expect(again.stdout).not.toContain("off the multiple");
  });

  it("carries the licenses of what it bundles", () => {
    const text = readFileSync(path.join(installed, "dist", "THIRD-PARTY-LICENSES.txt"), "utf8");
    for (const name of ["yargs", "cliui", "y18n", "onnx-proto", "protobufjs", "long", "minimatch"])
      expect(text).toMatch(new RegExp(`^${name} \\d`, "m"));
    expect(text).toContain("Blue Oak Model License");
  });

  it("has a bill of materials: what is bundled, what is installed with it, and nothing else", () => {
    const args = [path.join(root, "scripts", "sbom.mjs"), path.join(installed, "dist", "bundled.json")];
    const bill: Bill = JSON.parse(command(process.execPath, args, root));
    expect(bill.bomFormat).toBe("CycloneDX");
    expect(bill.metadata.component.name).toBe("tc-lint");
    const bundled: string[] = JSON.parse(readFileSync(path.join(installed, "dist", "bundled.json"), "utf8"));
    const found = bill.components.map((component) => component["bom-ref"]);
    expect(found.filter((name) => !/^(@koromix\/)?koffi/.test(name)).sort()).toEqual(bundled);
    expect(found.some((name) => name.startsWith("koffi@"))).toBe(true);
    const known = new Set([...found, bill.metadata.component["bom-ref"]]);
    for (const { ref, dependsOn } of bill.dependencies)
      expect([...known]).toEqual(expect.arrayContaining([ref, ...dependsOn]));
  });

  it("says how to report what is wrong with it", () => {
    expect(readFileSync(path.join(installed, "SECURITY.md"), "utf8")).toMatch(/report/i);
  });
});

/** Files that a page of Markdown links to, beside it. */
function linksIn(text: string): string[] {
  return [...text.matchAll(/\]\(([^)\s#]+)(?:#[^)]*)?\)/g)]
    .map(([, link = ""]) => link)
    .filter((link) => !/^[a-z]+:/.test(link));
}

/** Packages that a bundle imports. */
function packagesIn(text: string): string[] {
  const specifiers = text.matchAll(/\b(?:from|import|import\(|require\()\s*"([a-z@][\w./@-]*)"/g);
  return [...specifiers]
    .map(([, name = ""]) => name)
    .filter((name) => !name.startsWith("node:") && !builtinModules.includes(name));
}
