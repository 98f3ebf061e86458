import { execFileSync } from "node:child_process";
import { chownSync, lchownSync, mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import path from "node:path";
import { Ajv } from "ajv";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { rules } from "../../rules/index.ts";
import { type Config, defineConfig } from "../../src/config.ts";
import { ConfigFinder } from "../../src/files/find-config.ts";
import { ConfigLoader } from "../../src/files/load-config.ts";
import { InputError } from "../../src/ir/errors.ts";
import type { ConfigChain } from "../../src/settings/chain.ts";
import { checkConfig } from "../../src/settings/check.ts";
import { ignoringFile, resolveSettings } from "../../src/settings/resolve.ts";
import { configSchema } from "../../src/settings/schema.ts";
import { type Folder, temporaryFolder } from "./models.ts";

const schema = configSchema(rules);
const validate = new Ajv({ allErrors: false }).compile(schema);

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
  throw new Error("nothing was thrown");
}

function chainOf(...configs: Config[]): ConfigChain {
  const layers = configs.map((config, index) => ({ file: `/repo/${index}.json`, config }));
  return { folder: "/repo", layers };
}

const full = defineConfig({
  $schema: "./node_modules/tc-lint/schemas/config.schema.json",
  extends: "./base.json",
  rules: { TC102: "off", "narrow-stem": "error", TC4: "info" },
  gpu: "l4",
  stack: "tensorrt",
  precision: "int8",
  minSaving: "1%",
  errorShare: 0.1,
  shapes: { input: [1, 3, 224, 224] },
  dims: { batch: 8 },
  calibration: "./h200.json",
  ignores: ["**/old/**"],
  overrides: [{ files: ["*.onnx"], nodes: ["/head/*"], ops: ["Conv"], rules: { TC101: "off" } }],
});

describe("the check of a configuration", () => {
  test("takes everything there is", () => {
    checkConfig(full, schema, "tc-lint.config.json");
    expect(validate(full)).toBe(true);
  });

  const wrong: readonly (readonly [what: string, config: unknown, message: RegExp])[] = [
    ["no object", [], /c\.json: found \[\], expected an object/],
    ["an unknown key", { rule: {} }, /c\.json: rule: unknown key; did you mean "rules"\?/],
    ["an unknown rule", { rules: { TC191: "off" } }, /rules\.TC191: unknown key; did you mean "TC10/],
    [
      "an unknown severity",
      { rules: { TC101: "errors" } },
      /rules\.TC101: found "errors", expected one of .*did you mean "error"/,
    ],
    ["an unknown GPU", { gpu: "h20" }, /gpu: found "h20", expected one of .*"h200"/],
    [
      "a list of what scenarios are for",
      { gpu: ["l4", "h200"] },
      /gpu: found \["l4", "h200"\], expected one of .*; several are "scenarios": \[\{ "name": …, "gpu": … \}, …\]$/,
    ],
    [
      "a list of sizes",
      { dims: { batch: [1, 8] } },
      /dims\.batch: found \[1, 8\].*; several are "scenarios"/,
    ],
    [
      "a list where nothing takes several",
      { calibration: ["a"] },
      /calibration: found \["a"\], expected a string$/,
    ],
    ["a share that is none", { minSaving: "many" }, /minSaving: found "many", expected .*percentage/],
    ["a share above one", { errorShare: 5 }, /errorShare: found 5, expected/],
    ["a negative size", { dims: { batch: -1 } }, /dims\.batch: found -1, expected a whole number/],
    ["a shape that is a number", { shapes: { x: 3 } }, /shapes\.x: found 3, expected a list/],
    ["a size that is text", { shapes: { x: [1, "N"] } }, /shapes\.x\[1\]: found "N"/],
    ["an override without rules", { overrides: [{ files: ["*"] }] }, /overrides\[0\]: lacks "rules"/],
    [
      "an unknown key in an override",
      { overrides: [{ rules: {}, node: [] }] },
      /overrides\[0\]\.node: unknown key; did you mean "nodes"/,
    ],
    ["a function", { gpu: () => "h200" }, /gpu: found \[(Function|Function: gpu)\], expected/],
    ["null", null, /found null, expected an object/],
  ];

  test.each(wrong)("names %s", (_, config, message) => {
    expect(messageOf(() => checkConfig(config, schema, "c.json"))).toMatch(message);
    expect(validate(config)).toBe(false);
  });
});

test("the shipped schema is the one that is checked (npm run schemas writes it)", () => {
  const shipped = readFileSync(new URL("../../schemas/config.schema.json", import.meta.url), "utf8");
  expect(shipped).toBe(`${JSON.stringify(schema, undefined, 2)}\n`);
});

describe("resolved settings", () => {
  const severity = (chain: ConfigChain | undefined, code: string, flags = {}) =>
    resolveSettings("/repo/a.onnx", chain, flags, rules).severities[code];

  test("stand without any configuration", () => {
    const settings = resolveSettings("a.onnx", undefined, {}, rules);
    expect(settings).toMatchObject({
      gpu: "h200",
      stack: "ort-cuda",
      precision: "fp16",
      minSaving: 0.005,
      errorShare: 0.05,
    });
    expect(Object.keys(settings.severities)).toEqual(rules.map(({ code }) => code));
  });

  test("flags win over a file, a file over what it extends", () => {
    const chain = chainOf(
      { gpu: "t4", stack: "tensorrt", dims: { a: 1, b: 1 } },
      { gpu: "l4", dims: { b: 2, c: 2 } },
    );
    const settings = resolveSettings("/repo/a.onnx", chain, { gpu: "H200", dims: { c: 3 } }, rules);
    expect(settings).toMatchObject({ gpu: "h200", stack: "tensorrt", dims: { a: 1, b: 2, c: 3 } });
  });

  test("the more specific selector wins, whatever the order", () => {
    const chain = chainOf({ rules: { TC102: "error", TC: "info", TC1: "off", "narrow-stem": "warn" } });
    expect(["TC101", "TC102", "TC105", "TC201"].map((code) => severity(chain, code))).toEqual([
      "off",
      "error",
      "warn",
      "info",
    ]);
  });

  test("a later file wins even where it is less specific", () => {
    expect(severity(chainOf({ rules: { TC102: "off" } }, { rules: { TC1: "error" } }), "TC102")).toBe(
      "error",
    );
  });

  test("overrides hold for their files, the last one first", () => {
    const chain = chainOf({
      rules: { TC101: "info" },
      overrides: [
        { files: ["*.onnx"], rules: { TC101: "warn" } },
        { files: ["other/**"], rules: { TC101: "off" } },
      ],
    });
    expect(severity(chain, "TC101")).toBe("warn");
    expect(resolveSettings("/repo/other/a.onnx", chain, {}, rules)).toMatchObject({
      severities: { TC101: "off" },
    });
  });

  test("overrides with nodes or operators stay for the run", () => {
    const chain = chainOf({ overrides: [{ nodes: ["/head/*"], rules: { "misaligned-gemm": "off" } }] });
    const settings = resolveSettings("/repo/a.onnx", chain, {}, rules);
    expect(settings.nodeRules).toEqual([
      {
        nodes: ["/head/*"],
        ops: undefined,
        severities: { TC102: "off" },
        from: expect.stringMatching(/: overrides\[0\]$/),
      },
    ]);
    expect(
      resolveSettings("/repo/a.onnx", chain, { ignore: ["TC102"] }, rules).nodeRules[0]?.severities,
    ).toEqual({});
  });

  test("--select leaves its rules and switches them on, --ignore takes away", () => {
    const chain = chainOf({ rules: { TC102: "off", TC201: "off" } });
    const flags = { select: ["TC1", "narrow-stem"], ignore: ["TC104"] };
    expect(["TC101", "TC102", "TC104", "TC201"].map((code) => severity(chain, code, flags))).toEqual([
      "warn",
      "warn",
      "off",
      "off",
    ]);
  });

  test("unknown names are named", () => {
    expect(messageOf(() => resolveSettings("a", undefined, { select: ["TC9999"] }, rules))).toMatch(
      /^--select: "TC9999" is no rule/,
    );
    expect(messageOf(() => resolveSettings("a", undefined, { ignore: ["narow-stem"] }, rules))).toMatch(
      /did you mean "narrow-stem"/,
    );
    expect(messageOf(() => resolveSettings("a", undefined, { gpu: "h2000" }, rules))).toMatch(
      /did you mean "h200"/,
    );
    expect(messageOf(() => resolveSettings("a", undefined, { stack: "tensort" }, rules))).toMatch(
      /did you mean "tensorrt"/,
    );
  });

  test("a pattern that is none is named with its file", () => {
    const chain = chainOf({ overrides: [{ files: ["[z-a].onnx"], rules: {} }] });
    expect(messageOf(() => resolveSettings("/repo/a.onnx", chain, {}, rules))).toMatch(
      /0\.json: overrides: "\[z-a\]\.onnx" is no pattern/,
    );
  });

  test("ignores are relative to the configuration", () => {
    const chain = chainOf({ ignores: ["old/**", "*.tmp.onnx"] });
    const ignored = ["/repo/old/a.onnx", "/repo/x/b.tmp.onnx", "/repo/a.onnx", "/old/a.onnx"];
    expect(ignored.map((file) => ignoringFile(file, chain) !== undefined)).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});

describe("configuration files", () => {
  let folder: Folder;
  beforeEach(() => {
    folder = temporaryFolder();
  });
  afterEach(() => folder[Symbol.dispose]());

  /** As from the folder `from` of the test's own. */
  const loader = (from = ".", say: (notice: string) => void = () => {}) =>
    new ConfigLoader(schema, new ConfigFinder(path.join(folder.path, from), say));
  const load = (file: string) => loader().load(path.join(folder.path, file));
  const nearest = (model: string, from?: string) => loader(from).nearest(path.join(folder.path, model));

  test("the nearest one upward is taken, alone", async () => {
    folder.write("tc-lint.config.json", '{"gpu": "t4"}');
    folder.write("a/tc-lint.config.json", '{ "stack": "tensorrt" }');
    const near = await nearest("a/b/model.onnx");
    expect(near?.layers.map(({ config }) => config)).toEqual([{ stack: "tensorrt" }]);
    expect(near?.folder).toBe(path.join(folder.path, "a"));
    expect((await nearest("c/model.onnx"))?.layers[0]?.config).toEqual({ gpu: "t4" });
  });

  test("extends leads from the general to the special", async () => {
    folder.write("base.json", '{"gpu": "t4", "extends": "./deep/root.json"}');
    folder.write("deep/root.json", '{"precision": "bf16"}');
    folder.write(
      "node_modules/shared-config/package.json",
      '{"name": "shared-config", "main": "index.json"}',
    );
    folder.write("node_modules/shared-config/index.json", '{"minSaving": 0.1}');
    folder.write("tc-lint.config.json", '{"extends": ["./base.json", "shared-config"], "gpu": "l4"}');
    const chain = await load("tc-lint.config.json");
    expect(chain.layers.map(({ config: { extends: _, ...rest } }) => rest)).toEqual([
      { precision: "bf16" },
      { gpu: "t4" },
      { minSaving: 0.1 },
      { gpu: "l4" },
    ]);
  });

  test("JSON with comments is read as such, and what is wrong with it is named where it is", async () => {
    folder.write(
      "tc-lint.config.jsonc",
      '{ // why\n  "gpu": "t4", /* , } */\n  "ignores": ["//*.onnx", ], }',
    );
    expect((await nearest("model.onnx"))?.layers[0]?.config).toEqual({ gpu: "t4", ignores: ["//*.onnx"] });
    folder.write("tc-lint.config.jsonc", '{ // why\n  gpu: "t4" }');
    await expect(nearest("model.onnx")).rejects.toThrow(/jsonc: is not valid JSON \(line 2, column 3\)/);
  });

  test.each(["/*", '"\\', ", ", "//", "[,"])("%j without end is read in one pass", async (part) => {
    folder.write("tc-lint.config.jsonc", part.repeat(250_000));
    const start = performance.now();
    await expect(nearest("model.onnx")).rejects.toThrow(/is not valid JSON/);
    expect(performance.now() - start).toBeLessThan(5000);
  });

  test("CommonJS is run like any code", async () => {
    folder.write("package.json", "{}");
    folder.write("tc-lint.config.cjs", 'module.exports = { gpu: "l4" };');
    expect((await nearest("model.onnx"))?.layers[0]?.config).toEqual({ gpu: "l4" });
    rmSync(path.join(folder.path, "package.json"));
    expect(await nearest("model.onnx")).toBeUndefined();
  });

  test("names that are not read are said, once, and what is read is read all the same", async () => {
    folder.write("package.json", '{"tc-lint": {"gpu": "t4"}}');
    folder.write(".tc-lintrc.json", '{"gpu": "t4"}');
    folder.write("tc-lint.config.yaml", "gpu: t4");
    folder.write("tc-lint.config.json", '{"gpu": "l4"}');
    const said: string[] = [];
    const finder = loader(".", (notice) => said.push(notice));
    for (const model of ["model.onnx", "sub/model.onnx"])
      expect((await finder.nearest(path.join(folder.path, model)))?.layers[0]?.config).toEqual({ gpu: "l4" });
    const at = (name: string) => path.join(folder.path, name);
    expect(said).toEqual([
      `${at(".tc-lintrc.json")}, ${at("tc-lint.config.yaml")}, "tc-lint" in ${at("package.json")}: not read: a configuration is a file named tc-lint.config with .js, .mjs, .cjs, .ts, .mts, .cts, .json or .jsonc`,
    ]);
  });

  test("a manifest that is none is npm's business", async () => {
    folder.write("package.json", '{"tc-lint": ');
    const said: string[] = [];
    expect(
      await loader(".", (notice) => said.push(notice)).nearest(path.join(folder.path, "m.onnx")),
    ).toBeUndefined();
    expect(said).toEqual([]);
  });

  const broken: readonly (readonly [what: string, files: Record<string, string>, message: RegExp])[] = [
    [
      "JSON that is none",
      { "tc-lint.config.json": "{gpu: 1}" },
      /tc-lint\.config\.json: is not valid JSON \(line 1, column 2\)/,
    ],
    [
      "a script that throws",
      { "package.json": "{}", "tc-lint.config.mjs": "throw new Error('boom')" },
      /tc-lint\.config\.mjs: cannot be loaded: boom/,
    ],
    [
      "no default export",
      { "package.json": "{}", "tc-lint.config.mjs": "export const gpu = 1;" },
      /has no default export/,
    ],
    [
      "a circle",
      { "tc-lint.config.json": '{"extends": "./b.json"}', "b.json": '{"extends": "./tc-lint.config.json"}' },
      /in a circle/,
    ],
    [
      "a missing base",
      { "tc-lint.config.json": '{"extends": "./b.json"}' },
      /b\.json: no such configuration file/,
    ],
    [
      "a missing package",
      { "tc-lint.config.json": '{"extends": "nowhere"}' },
      /extends: "nowhere" is no installed package/,
    ],
    [
      "two in one folder",
      { "package.json": "{}", "tc-lint.config.json": "{}", "tc-lint.config.mjs": "export default {}" },
      /lie in one folder/,
    ],
  ];

  test.each(broken)("%s is named", async (_, files, message) => {
    for (const [name, content] of Object.entries(files)) folder.write(name, content);
    await expect(nearest("model.onnx")).rejects.toThrow(message);
    await expect(nearest("model.onnx")).rejects.toBeInstanceOf(InputError);
  });

  describe("beside a model, where the user does not stand", () => {
    const evil = "globalThis.planted = true; export default {};";
    const planted = () => "planted" in globalThis;

    test("code is not run, which is said, and the next one upward is taken", async () => {
      folder.write("package.json", "{}");
      folder.write("tc-lint.config.json", '{"gpu": "t4"}');
      const file = folder.write("downloaded/tc-lint.config.mjs", evil);
      const said: string[] = [];
      const chain = await loader(".", (notice) => said.push(notice)).nearest(
        path.join(folder.path, "downloaded/model.onnx"),
      );
      expect(chain?.layers[0]?.config).toEqual({ gpu: "t4" });
      expect(said).toEqual([`${file}: not run: it is code beside a model; name it with --config to run it`]);
      expect(planted()).toBe(false);
    });

    test("code does not run where the user stands outside of a project", async () => {
      const file = folder.write("tc-lint.config.mjs", evil);
      const said: string[] = [];
      const model = path.join(folder.path, "model.onnx");
      expect(await loader(".", (notice) => said.push(notice)).nearest(model)).toBeUndefined();
      expect(said).toEqual([
        `${file}: not run: it is code, and the working directory is in no project (package.json or .git); name it with --config to run it`,
      ]);
      expect(planted()).toBe(false);
    });

    test("a configuration that is a link to somewhere else is refused", async () => {
      folder.write("secret.json", '{"token": "hunter2"}');
      folder.write("models/x/model.onnx", "");
      folder.write("here/package.json", "{}");
      symlinkSync("../../secret.json", path.join(folder.path, "models/x/tc-lint.config.json"));
      await expect(nearest("models/x/model.onnx", "here")).rejects.toThrow(/is a link that leads out of/);
    });

    test("code runs where the user stands, and above it up to the project's root", async () => {
      folder.write("package.json", "{}");
      folder.write("tc-lint.config.mjs", 'export default { gpu: "a100" };');
      folder.write("project/package.json", "{}");
      expect((await nearest("project/sub/model.onnx"))?.layers[0]?.config).toEqual({ gpu: "a100" });
      folder.write("project/tc-lint.config.mjs", 'export default { gpu: "l4" };');
      expect((await nearest("project/sub/model.onnx", "project"))?.layers[0]?.config).toEqual({ gpu: "l4" });
      rmSync(path.join(folder.path, "project/tc-lint.config.mjs"));
      expect(await nearest("project/sub/model.onnx", "project")).toBeUndefined();
    });

    const reaching: readonly (readonly [what: string, config: string, message: RegExp])[] = [
      ["extends code", '{"extends": "./x.mjs"}', /x\.mjs: is code, which a configuration beside a model/],
      ["extends a file above", '{"extends": "../../secret.json"}', /leads out of .*name it with --config/],
      ["extends a link that leaves", '{"extends": "./link.json"}', /leads out of/],
      ["names a calibration elsewhere", '{"calibration": "/etc/shadow"}', /calibration leads out of/],
    ];

    test.each(reaching)("one that %s is refused", async (_, config, message) => {
      folder.write("secret.json", '{"gpu": "t4"}');
      mkdirSync(path.join(folder.path, "here"));
      folder.write("models/x/x.mjs", evil);
      folder.write("models/x/tc-lint.config.json", config);
      symlinkSync("../../secret.json", path.join(folder.path, "models/x/link.json"));
      await expect(nearest("models/x/model.onnx", "here")).rejects.toThrow(message);
      expect(planted()).toBe(false);
    });

    test.skipIf(process.getuid?.() !== 0)(
      "one of another user is passed over, which is said (asked as root)",
      async () => {
        mkdirSync(path.join(folder.path, "here"));
        const file = folder.write("models/tc-lint.config.json", '{"gpu": "t4"}');
        chownSync(file, 54321, 54321);
        const said: string[] = [];
        const model = path.join(folder.path, "models/model.onnx");
        expect(await loader("here", (notice) => said.push(notice)).nearest(model)).toBeUndefined();
        expect(said).toEqual([expect.stringMatching(/not used: it belongs to another user \(54321\)/)]);
      },
    );

    test.skipIf(process.getuid?.() !== 0)(
      "code of another user does not run, by a chain, a link or a project that is his (asked as root)",
      async () => {
        const own = (name: string) => path.join(folder.path, name);
        mkdirSync(own("here"));
        folder.write("here/package.json", "{}");
        chownSync(folder.write("here/x.mjs", evil), 54321, 54321);
        folder.write("here/tc-lint.config.json", '{"extends": "./x.mjs"}');
        await expect(nearest("here/model.onnx", "here")).rejects.toThrow(/is code of another user \(54321\)/);
        mkdirSync(own("linked"));
        folder.write("linked/package.json", "{}");
        symlinkSync(folder.write("mine.mjs", evil), own("linked/tc-lint.config.mjs"));
        lchownSync(own("linked/tc-lint.config.mjs"), 54321, 54321);
        expect(await nearest("linked/model.onnx", "linked")).toBeUndefined();
        mkdirSync(own("planted"));
        chownSync(folder.write("planted/package.json", "{}"), 54321, 54321);
        folder.write("planted/tc-lint.config.mjs", evil);
        expect(await nearest("planted/model.onnx", "planted")).toBeUndefined();
        expect(planted()).toBe(false);
      },
    );

    test("what is no regular file is named, and not waited for", async () => {
      mkdirSync(path.join(folder.path, "here"));
      mkdirSync(path.join(folder.path, "models"));
      execFileSync("mkfifo", [path.join(folder.path, "models/tc-lint.config.json")]);
      await expect(nearest("models/model.onnx", "here")).rejects.toThrow(
        /is a pipe, expected a regular file/,
      );
    });

    test("the text of another kind of file is not repeated", async () => {
      folder.write("secret", "root:$6$hash");
      mkdirSync(path.join(folder.path, "models"));
      symlinkSync("../secret", path.join(folder.path, "models/tc-lint.config.json"));
      const refusal = await nearest("models/model.onnx").catch((error: Error) => error.message);
      expect(refusal).toMatch(/is not valid JSON/);
      expect(refusal).not.toMatch(/root|hash/);
    });
  });
});
