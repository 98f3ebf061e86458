/**
 * @file A new user and a folder from elsewhere: nothing in it is run, nothing outside it is read or written, and every
 * command ends. The user stands beside it: code of the project one stands in is one's own (docs/adr/0013).
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Folder, temporaryFolder } from "../cli/models.ts";
import { type BuiltCli, buildCli } from "../cli-process.ts";
import {
  buildHostileFolder,
  evilNames,
  type HostileFolder,
  quick,
  readingCommands,
  secret,
} from "./hostile-folder.ts";

let cli: BuiltCli;
let folder: Folder;
let hostile: HostileFolder;
beforeAll(async () => {
  cli = buildCli();
  folder = temporaryFolder();
  hostile = await buildHostileFolder(folder.path);
  mkdirSync(path.join(folder.path, "own/tmp"), { recursive: true });
});
afterAll(() => {
  hostile[Symbol.dispose]();
  folder[Symbol.dispose]();
  cli[Symbol.dispose]();
});

const hasStrace = spawnSync("strace", ["-V"]).status === 0;
if (!hasStrace) console.warn("skipped: no `strace` here, so what is opened is not looked at");

interface Ended {
  readonly exitCode: number | null;
  readonly said: string;
  /** Paths that were opened, as they were given. */
  readonly opened: readonly string[];
}

/** From `home`, with a home and a cache that hold nothing. */
function run(...args: readonly string[]): Promise<Ended> {
  const own = path.join(folder.path, "own");
  const trace = path.join(folder.path, "trace");
  const command = [process.execPath, cli.script, ...args];
  const tracing = ["strace", "-f", "-s", "4096", "-e", "trace=open,openat,execve,connect", "-o", trace];
  const [program = "", ...rest] = hasStrace ? [...tracing, ...command] : command;
  const child = spawn(program, rest, {
    cwd: hostile.home,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: process.env["PATH"], HOME: own, TMPDIR: path.join(own, "tmp") },
    timeout: 120_000,
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      said += text;
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (exitCode) => {
      const calls = hasStrace ? readFileSync(trace, "latin1") : "";
      resolve({
        exitCode,
        said,
        opened: [...calls.matchAll(/open(?:at)?\([^"]*"([^"]*)"/g)].map(([, file = ""]) => file),
      });
    });
  });
}

/** Everything below both folders: kind, mode, content. */
function state(): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const visit = (at: string): void => {
    for (const name of readdirSync(at)) {
      const file = path.join(at, name);
      const stats = lstatSync(file);
      const kind = `${stats.mode.toString(8)} ${stats.size}`;
      // What runs keep of tc-lint itself (test/cli/kept-code.test.ts).
      if (file === path.join(folder.path, "own/.cache/tc-lint/code")) continue;
      if (stats.isSymbolicLink()) found.set(file, `link ${readlinkSync(file)}`);
      else if (stats.isDirectory()) visit(file);
      else found.set(file, stats.isFile() ? `${kind} ${readFileSync(file, "latin1")}` : kind);
    }
  };
  for (const at of [hostile.home, hostile.vault, path.join(folder.path, "own")]) visit(at);
  return found;
}

const raw = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;

/** What went wrong, in a line each. */
function harmOf({ exitCode, said, opened }: Ended): readonly string[] {
  const lines = said.split("\n");
  const inside = opened.filter((file) => file.startsWith(hostile.vault) || file === "/etc/passwd");
  // Refused before they are opened, since opening may wait for ever.
  const special = opened.filter((file) => /\/(pipe|zero|socket)\.(onnx|weights)/.test(file));
  return [
    ...([0, 1, 2].includes(exitCode ?? -1) ? [] : [`ends with ${exitCode}`]),
    ...readdirSync(hostile.ran).map((name) => `ran ${name}`),
    ...lines.filter((line) => line.includes(secret)).map((line) => `repeats a secret: ${line}`),
    ...lines.filter((line) => /bug in tc-lint|^ +at /.test(line)).map((line) => `a bug: ${line}`),
    ...lines
      .filter((line) => raw.test(line) || line.startsWith("::error file=x"))
      .map((line) => `raw: ${line}`),
    ...[...inside, ...special].map((file) => `opens ${file}`),
  ].map((line) => line.slice(0, 300));
}

describe("a hostile folder", () => {
  it.each(readingCommands.map((args) => [args.join(" "), args] as const))(
    "tc-lint %s: nothing is run, planted or read outside",
    async (_, args) => {
      const before = state();
      expect(harmOf(await run(...args))).toEqual([]);
      expect(changesSince(before)).toEqual([]);
    },
    240_000,
  );

  it("linted as a whole names what is wrong with each model, and lints the rest", async () => {
    const { said } = await run("download/models", "-f", "json");
    const report: { models: { path: string; error: { code: string } | null }[] } = JSON.parse(
      said.slice(said.indexOf("{")),
    );
    const codeOf = (name: string) =>
      report.models.find((each) => each.path.endsWith(`/${name}`))?.error?.code;
    const named = ["absolute", "above", "inside-out", "through-folder", "link", "hard"].map(
      (name) => `external-${name}.onnx`,
    );
    for (const name of named) expect([name, codeOf(name)]).toEqual([name, "external-path"]);
    expect(codeOf("text.onnx")).toBe("not-onnx");
    const linted = report.models.filter(
      ({ path: file, error }) => file.includes("/named/") && error === null,
    );
    expect(linted).toHaveLength(evilNames.length);
  });

  it("with configurations that want something: refused by name, or without their wish", async () => {
    const before = state();
    for (const name of hostile.configured) {
      for (const args of [["print-config"], ["--diff", ...quick]]) {
        const ended = await run(...args, `download/configured/${name}/model.onnx`);
        expect(harmOf(ended)).toEqual([]);
        // The chip that only a secret names, or that a prototype would bring in.
        expect(ended.said).not.toMatch(/"gpu": "t4"/);
      }
    }
    expect(changesSince(before)).toEqual([]);
  });

  it("repaired: models change, data is called after them, and nothing else is there", async () => {
    const before = state();
    expect(harmOf(await run("--fix", "download/models", ...quick))).toEqual([]);
    const isResult = (file: string) => /\.onnx$|\.[0-9a-f]{16}\.data$/.test(file);
    const changed = changesSince(before);
    expect(changed.filter((file) => !isResult(file))).toEqual([]);
    expect(changed.filter((file) => file.includes("/named/"))).toHaveLength(evilNames.length);
    for (const file of changed) expect(lstatSync(file).mode & 0o111).toBe(0);
    expect(existsSync(path.join(hostile.home, "planted.onnx"))).toBe(false);
  });
});

function changesSince(before: ReadonlyMap<string, string>): readonly string[] {
  const now = state();
  const changed = [...now.keys()].filter((file) => now.get(file) !== before.get(file));
  return [...changed, ...[...before.keys()].filter((file) => !now.has(file))];
}
