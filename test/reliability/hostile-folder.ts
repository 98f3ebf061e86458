/**
 * @file A folder as an attacker would send it, inside one that belongs to the user, beside one that is nobody else's business.
 *
 *   home/             where the user stands
 *     download/       what came from elsewhere
 *       models/       models, and everything that lies around them
 *       configured/   folders, each with a configuration that wants something
 *   vault/            secrets, which links and paths of the download lead to
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, type Server } from "node:net";
import path from "node:path";
import { convolutions, writeInline } from "../fix/models.ts";
import { byteCases } from "../onnx/bad-inputs/bytes.ts";
import { externalCases } from "../onnx/bad-inputs/external.ts";
import { graphCases } from "../onnx/bad-inputs/graphs.ts";
import { tensorCases } from "../onnx/bad-inputs/tensors.ts";
import { float, floats, info, modelBytes, node, type types } from "../onnx/build.ts";

/** In everything that must not be read, or not be repeated. */
export const secret = "TOP-SECRET-4711";

export const quick = ["--no-verify", "--no-color", "--min-saving", "0"];

/** What a new user does with it, standing in `home`, before anything is changed. */
export const readingCommands: readonly (readonly string[])[] = [
  ["."],
  ["download/models", "--min-saving", "0", "--table", "-f", "text"],
  ["download/models", "-f", "sarif"],
  ["--diff", "download/models", ...quick],
  ["bench", "--plan", "download/models/functions.onnx"],
  ["bench", "--plan", "download/models/huge.onnx"],
  ["bench", "--plan", "download/models/external-link.onnx"],
  ["verify", "download/models/external-hard.onnx", "download/models/external-absolute.onnx"],
  ["verify", "download/models/pipe.onnx", "download/models/zero.onnx"],
  ["verify", "download/models/text.onnx", "download/models/functions.onnx"],
  ["print-config", "download/models/functions.onnx"],
];

export interface HostileFolder extends Disposable {
  readonly home: string;
  readonly vault: string;
  /** Where code that ran would leave a file of its own name. */
  readonly ran: string;
  /** Folders below home/download/configured. */
  readonly configured: readonly string[];
}

export async function buildHostileFolder(root: string): Promise<HostileFolder> {
  const [home, vault, ran] = [path.join(root, "home"), path.join(root, "vault"), path.join(root, "ran")];
  const models = path.join(home, "download", "models");
  for (const folder of [vault, ran, models]) mkdirSync(folder, { recursive: true });
  fillVault(vault);
  plantCode(path.join(home, "download"), ran);
  plantCode(models, ran);
  plantFiles(models, vault);
  plantModels(models, vault);
  plantBadInputs(models);
  const configured = plantConfigs(path.join(home, "download", "configured"), vault, ran);
  const server = await listen(path.join(models, "socket.onnx"));
  return { home, vault, ran, configured, [Symbol.dispose]: () => void server.close() };
}

function fillVault(vault: string): void {
  writeFileSync(path.join(vault, "secret.json"), `{ "gpu": "${secret}" }`);
  writeFileSync(path.join(vault, "secret.txt"), `${secret}\n`.repeat(100_000));
  writeInline(vault);
}

/** Code under every name that some tool runs by itself. */
function plantCode(folder: string, ran: string): void {
  const mark = (name: string) =>
    `require("node:fs").writeFileSync(${JSON.stringify(path.join(ran, name))}, "")`;
  const esm = (name: string) =>
    `import { createRequire } from "node:module"; const require = createRequire("/"); ${mark(name)}; export default {};\n`;
  const put = (name: string, content: string) => write(path.join(folder, name), content);
  put("tc-lint.config.js", esm("js"));
  put("tc-lint.config.mjs", esm("mjs"));
  put("tc-lint.config.cjs", mark("cjs"));
  put("tc-lint.config.ts", esm("ts"));
  put(".tc-lintrc.js", mark("rc"));
  put(
    "package.json",
    JSON.stringify({
      type: "module",
      main: "./evil.js",
      "tc-lint": { extends: "./tc-lint.config.mjs", rules: { TC101: "off" } },
      yargs: { "parse-numbers": true },
      scripts: { preinstall: `touch ${ran}/preinstall` },
    }),
  );
  put(".npmrc", `script-shell=${ran}/npmrc\nnode-options=--require=${folder}/evil.cjs\n`);
  put("evil.js", esm("main"));
  for (const name of ["onnxruntime-node", "koffi", "yargs", "evil"]) {
    put(`node_modules/${name}/index.js`, mark(`module-${name}`));
    put(`node_modules/${name}/package.json`, JSON.stringify({ name, main: "index.js" }));
  }
  for (const hook of ["pre-commit", "post-checkout", "post-commit"]) {
    put(`.git/hooks/${hook}`, `#!/bin/sh\ntouch ${ran}/${hook}\n`);
    chmodSync(path.join(folder, ".git/hooks", hook), 0o755);
  }
  put(".git/config", `[core]\n\tfsmonitor = touch ${ran}/fsmonitor\n\thooksPath = hooks\n`);
}

/** What is no file, or leads elsewhere, under names of models. */
function plantFiles(folder: string, vault: string): void {
  const at = (name: string) => path.join(folder, name);
  execFileSync("mkfifo", [at("pipe.onnx"), at("pipe.weights")]);
  mkdirSync(at("folder.onnx"));
  symlinkSync("/dev/zero", at("zero.onnx"));
  symlinkSync("loop.onnx", at("loop.onnx"));
  symlinkSync("b-loop.onnx", at("a-loop.onnx"));
  symlinkSync("a-loop.onnx", at("b-loop.onnx"));
  symlinkSync("..", at("circle"));
  symlinkSync(vault, at("vault"));
  symlinkSync(path.join(vault, "secret.txt"), at("text.onnx"));
  symlinkSync("/nowhere/at/all", at("dangling.onnx"));
  for (let index = 0; index < 3000; index++) write(at(`many/${index % 30}/${index}.txt`), "");
}

/** Every one lintable, and most of them something to fix. */
export const evilNames = [
  "\u001b[31mred\u001b]0;title\u0007.onnx",
  "a\n::error file=x::boo\n.onnx",
  "::error::boo.onnx",
  "a\u202exnno.onnx",
  "-rf.onnx",
  "--fix-output=planted.onnx",
  "$(touch planted).onnx",
  "=HYPERLINK(1).onnx",
  `${"x".repeat(250)}.onnx`,
] as const;

function plantModels(folder: string, vault: string): void {
  const at = (name: string) => path.join(folder, name);
  const good = modelBytes(convolutions());
  for (const name of evilNames) write(at(`named/${name}`), good);
  const locations: readonly (readonly [name: string, location: string])[] = [
    ["absolute", path.join(vault, "secret.txt")],
    ["above", "../../../vault/secret.txt"],
    ["inside-out", "vault/../../../../vault/secret.txt"],
    ["through-folder", "vault/secret.txt"],
    ["link", "link.weights"],
    ["hard", "hard.weights"],
    ["pipe", "pipe.weights"],
    ["config", "tc-lint.config.js"],
  ];
  symlinkSync(path.join(vault, "secret.txt"), at("link.weights"));
  linkSync(path.join(vault, "secret.txt"), at("hard.weights"));
  for (const [name, location] of locations) write(at(`external-${name}.onnx`), externalModel(location));
  write(at("huge.onnx"), hugeModel());
  write(at("functions.onnx"), functionDag(40));
}

/** A product whose weights are said to be in that file. */
function externalModel(location: string): Uint8Array {
  const weight: types.ITensorProto = {
    name: "w",
    dims: [67, 129],
    dataType: float,
    dataLocation: 1,
    externalData: [{ key: "location", value: location }],
  };
  return modelBytes({
    node: [node("MatMul", ["x", "w"], ["y"])],
    input: [info("x", [64, 67])],
    output: [info("y", [64, 129])],
    initializer: [weight],
  });
}

/** Sizes that no machine has, of what is computed and of what is stored. */
function hugeModel(): Uint8Array {
  const side = 2 ** 40;
  return modelBytes({
    node: [
      node("MatMul", ["x", "x"], ["y"]),
      node("ConstantOfShape", ["shape"], ["c"]),
      node("Expand", ["c", "shape"], ["z"]),
    ],
    input: [info("x", [side, side])],
    output: [info("y", [side, side]), info("z")],
    initializer: [
      { name: "shape", dims: [2], dataType: 7, int64Data: [2 ** 30, 2 ** 30] },
      floats("unused", [1], [1]),
    ],
  });
}

/** Each function calls the one before it twice: 2^depth nodes, were they written out. */
function functionDag(depth: number): Uint8Array {
  const opsetImport = [
    { domain: "", version: 17 },
    { domain: "f", version: 1 },
  ];
  const functions = Array.from({ length: depth }, (_, level): types.IFunctionProto => {
    const call = (from: string, to: string) =>
      level === 0 ? node("Relu", [from], [to]) : node(`F${level - 1}`, [from], [to], { domain: "f" });
    return {
      name: `F${level}`,
      domain: "f",
      input: ["a"],
      output: ["c"],
      node: [call("a", "b"), call("b", "c")],
      opsetImport,
    };
  });
  const graph: types.IGraphProto = {
    node: [node(`F${depth - 1}`, ["x"], ["y"], { domain: "f" })],
    input: [info("x", [8, 8])],
    output: [info("y", [8, 8])],
  };
  return modelBytes(graph, { functions, opsetImport });
}

/** A case of test/onnx/bad-inputs that is larger is looked at there, alone. */
const maxBadBytes = 2 << 20;

function plantBadInputs(folder: string): void {
  for (const [index, bad] of [...byteCases, ...tensorCases, ...externalCases, ...graphCases].entries()) {
    const own = path.join(folder, "bad", String(index));
    mkdirSync(own, { recursive: true });
    bad.write(own);
    const bytes = readdirSync(own).map(
      (name) => statSync(path.join(own, name), { throwIfNoEntry: false })?.size ?? 0,
    );
    if (bytes.some((size) => size > maxBadBytes)) rmSync(own, { recursive: true });
  }
}

function plantConfigs(folder: string, vault: string, ran: string): readonly string[] {
  const configs: Readonly<Record<string, string>> = {
    "extends-absolute": JSON.stringify({ extends: path.join(vault, "secret.json") }),
    "extends-above": '{ "extends": "../../../../vault/secret.json" }',
    "extends-code": '{ "extends": "./tc-lint.config.mjs" }',
    "extends-package": '{ "extends": "evil" }',
    "extends-link": '{ "extends": "./link.json" }',
    "extends-circle": '{ "extends": "./tc-lint.config.json" }',
    "calibration-absolute": '{ "calibration": "/etc/passwd" }',
    "calibration-link": '{ "calibration": "./link.json" }',
    prototype: '{ "__proto__": { "gpu": "t4" } }',
    deep: "[".repeat(100_000),
    pattern: JSON.stringify({
      ignores: [`${"*a".repeat(40)}b`],
      overrides: [{ files: ["{a,b}".repeat(30)] }],
    }),
  };
  for (const [name, config] of Object.entries(configs)) {
    const own = path.join(folder, name);
    write(path.join(own, "model.onnx"), modelBytes(convolutions()));
    plantCode(own, ran);
    symlinkSync(path.join(vault, "secret.json"), path.join(own, "link.json"));
    write(path.join(own, "tc-lint.config.json"), config);
  }
  const linked = path.join(folder, "is-link");
  write(path.join(linked, "model.onnx"), modelBytes(convolutions()));
  symlinkSync(path.join(vault, "secret.txt"), path.join(linked, "tc-lint.config.json"));
  const piped = path.join(folder, "is-pipe");
  write(path.join(piped, "model.onnx"), modelBytes(convolutions()));
  execFileSync("mkfifo", [path.join(piped, "tc-lint.config.json")]);
  return [...Object.keys(configs), "is-link", "is-pipe"];
}

function write(file: string, content: string | Uint8Array): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
}

/** A path too long for a socket is given by its end, from its folder. */
function listen(file: string): Promise<Server> {
  const server = createServer().unref();
  const back = process.cwd();
  process.chdir(path.dirname(file));
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(path.basename(file), () => {
      process.chdir(back);
      resolve(server);
    });
  });
}
