/** @file The cache of compiled kernels: what is in its folder may be anything, and every call on files may fail. */
import { spawn, spawnSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type CacheFiles, CubinCache } from "../../../cuda-runtime/session/cubin-cache.ts";
import { contentOf, encodeEntry, headerBytes } from "../../../cuda-runtime/session/cubin-entry.ts";
import { chooseCache } from "../../../cuda-runtime/session/cubin-folder.ts";
import { bundle } from "../../bundle.ts";

const limit = 2 ** 20;
const keyOf = (name: string) => createHash("sha256").update(name).digest();
const [one, two] = [keyOf("one"), keyOf("two")];
const content = Buffer.from("machine code of one");
const isRoot = process.getuid?.() === 0;

let base = "";
let folder = "";
beforeEach(() => {
  base = fs.mkdtempSync(path.join(tmpdir(), "tc-lint-cubin-"));
  folder = path.join(base, "deep", "cache");
});
afterEach(() => fs.rmSync(base, { recursive: true, force: true }));

const pathOf = (key: Buffer) => path.join(folder, `${key.toString("hex")}.cubin`);
const read = (key: Buffer) => new CubinCache(folder, limit).read(key);
function write(key: Buffer, bytes: Uint8Array): void {
  const cache = new CubinCache(folder, limit);
  cache.write(key, bytes);
  expect(cache.problem).toBeUndefined();
}

/** Calls on files, each of which may be replaced. */
function filesWith(
  replaced: (
    name: keyof CacheFiles,
    call: (args?: readonly unknown[]) => unknown,
    args: readonly unknown[],
  ) => unknown,
): CacheFiles {
  const handler: ProxyHandler<typeof fs> = {
    get(target, name: keyof CacheFiles) {
      const original: unknown = Reflect.get(target, name);
      if (typeof original !== "function") return original;
      return (...args: unknown[]) =>
        replaced(name, (changed = args) => Reflect.apply(original, target, [...changed]), args);
    },
  };
  return new Proxy({ ...fs }, handler);
}

function failure(name: string, code: string): Error {
  return Object.assign(new Error(`${code}: failed, ${name}`), { code, syscall: name });
}

describe("An entry", () => {
  it("is kept for the next process, in a folder of the user's own", () => {
    write(one, content);
    expect(read(one)).toEqual(content);
    expect(read(two)).toBeUndefined();
    expect(fs.statSync(folder).mode & 0o777).toBe(0o700);
    expect(fs.statSync(pathOf(one)).mode & 0o777).toBe(0o600);
    expect(fs.readdirSync(folder)).toHaveLength(1);
  });

  it("is believed only if every byte of it is what was written", () => {
    const entry = encodeEntry(one, content);
    expect(contentOf(entry, one)).toEqual(content);
    expect(contentOf(entry, two)).toBeUndefined();
    for (let length = 0; length < entry.length; length++) {
      expect(contentOf(entry.subarray(0, length), one)).toBeUndefined();
    }
    expect(contentOf(Buffer.concat([entry, Buffer.from([0])]), one)).toBeUndefined();
    for (let bit = 0; bit < 8 * entry.length; bit++) {
      const damaged = Buffer.from(entry);
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(contentOf(damaged, one)).toBeUndefined();
    }
  });

  const damages: readonly (readonly [what: string, damage: (file: string) => void])[] = [
    ["an empty file", (file) => fs.writeFileSync(file, "")],
    ["bare machine code, as before there were headers", (file) => fs.writeFileSync(file, content)],
    ["half of it", (file) => fs.truncateSync(file, headerBytes + 3)],
    ["another key's", (file) => fs.writeFileSync(file, encodeEntry(two, content))],
    [
      "a folder",
      (file) => {
        fs.rmSync(file);
        fs.mkdirSync(path.join(file, "inner"), { recursive: true });
      },
    ],
    [
      "a link to an entry",
      (file) => {
        fs.renameSync(file, `${file}.real`);
        fs.symlinkSync(`${file}.real`, file);
      },
    ],
    [
      "a circle of links",
      (file) => {
        fs.rmSync(file);
        fs.symlinkSync(file, file);
      },
    ],
    [
      "a pipe",
      (file) => {
        fs.rmSync(file);
        expect(spawnSync("mkfifo", [file]).status).toBe(0);
      },
    ],
    ["what others may write", (file) => fs.chmodSync(file, 0o622)],
    ["a file beyond the limit", (file) => fs.truncateSync(file, limit + 1)],
  ];
  it.each(damages)("is not believed where there is %s, and replaced", (_, damage) => {
    write(one, content);
    damage(pathOf(one));
    expect(read(one)).toBeUndefined();
    write(one, content);
    expect(read(one)).toEqual(content);
    expect(fs.lstatSync(pathOf(one)).isFile()).toBe(true);
  });

  it.skipIf(!isRoot)("of another user is not believed (asked as root)", () => {
    write(one, content);
    fs.chownSync(pathOf(one), 12345, 12345);
    expect(read(one)).toBeUndefined();
  });

  it("that cannot be read counts as none, and is replaced", () => {
    write(one, content);
    const files = filesWith((name, call) => {
      if (name === "readSync") throw failure(name, "EIO");
      return call();
    });
    const cache = new CubinCache(folder, limit, { files });
    expect(cache.read(one)).toBeUndefined();
    cache.write(one, Buffer.from("new"));
    expect(cache.problem).toBeUndefined();
    expect(read(one)).toEqual(Buffer.from("new"));
  });
});

describe("The folder", () => {
  it("that others may read or write is closed to them", () => {
    fs.mkdirSync(folder, { recursive: true, mode: 0o755 });
    fs.chmodSync(folder, 0o777);
    write(one, content);
    expect(fs.statSync(folder).mode & 0o777).toBe(0o700);
  });

  it.each([
    ["another user", { uid: 54321, mode: 0o40700 }, "belongs to another user"],
    ["root, for all to write", { uid: 0, mode: 0o41777 }, "may be written by others"],
  ])("of %s is not used, said once", (_, stats, said) => {
    write(one, content);
    const asked: string[] = [];
    const files = filesWith((name, call) => {
      asked.push(name);
      const result = call();
      if (name !== "fstatSync" || !(result instanceof fs.Stats) || !result.isDirectory()) return result;
      return Object.assign(result, stats);
    });
    const cache = new CubinCache(folder, limit, { files, user: 1000 });
    expect(cache.read(one)).toBeUndefined();
    expect(cache.problem).toBe(`${folder} ${said}`);
    const before = asked.length;
    cache.write(two, content);
    expect(cache.read(two)).toBeUndefined();
    expect(asked.slice(before)).toEqual([]);
  });

  it("that is a link or a file is not used, said with its name", () => {
    fs.mkdirSync(path.join(base, "deep", "elsewhere"), { recursive: true, mode: 0o700 });
    fs.symlinkSync("elsewhere", folder);
    const linked = new CubinCache(folder, limit);
    expect(linked.read(one)).toBeUndefined();
    linked.write(one, content);
    expect(linked.problem).toContain(folder);
    expect(fs.readdirSync(path.join(base, "deep", "elsewhere"))).toEqual([]);
    fs.rmSync(folder);
    fs.writeFileSync(folder, "");
    const file = new CubinCache(folder, limit);
    file.write(one, content);
    expect(file.problem).toContain(folder);
  });

  it("holds no more than it may: what was not used for longest goes", () => {
    const size = 100_000;
    const keys = Array.from({ length: 30 }, (_, index) => keyOf(`k${index}`));
    const cache = new CubinCache(folder, 10 * (size + headerBytes));
    const used = () =>
      fs.readdirSync(folder).reduce((sum, name) => sum + fs.statSync(path.join(folder, name)).size, 0);
    for (const [index, key] of keys.entries()) {
      cache.write(key, randomBytes(size));
      expect(used()).toBeLessThanOrEqual(10 * (size + headerBytes));
      // Times of files may be as coarse as this loop: each entry is older than those behind it.
      for (const [at, each] of keys.slice(0, index + 1).entries()) {
        if (at > 0 && fs.existsSync(pathOf(each))) fs.utimesSync(pathOf(each), at, at);
      }
      // The first is asked for again and again.
      if (index > 0) expect(cache.read(keys[0] ?? one)).toBeDefined();
    }
    const kept = keys.flatMap((key, index) => (fs.existsSync(pathOf(key)) ? [index] : []));
    expect(kept).toEqual([0, 21, 22, 23, 24, 25, 26, 27, 28, 29]);
    expect(cache.problem).toBeUndefined();
  });

  it("keeps nothing that is larger than all it may hold, and nothing of others is removed", () => {
    fs.mkdirSync(folder, { recursive: true });
    fs.writeFileSync(path.join(folder, "notes.txt"), randomBytes(2 * limit));
    const cache = new CubinCache(folder, limit);
    cache.write(one, randomBytes(limit));
    expect(fs.readdirSync(folder)).toEqual(["notes.txt"]);
    cache.write(two, content);
    expect(fs.readdirSync(folder)).toContain("notes.txt");
  });

  it("loses what dead processes began to write", () => {
    write(one, content);
    const old = `${pathOf(one).slice(0, -"cubin".length)}123.0a.tmp`;
    const young = `${pathOf(one).slice(0, -"cubin".length)}124.0b.tmp`;
    for (const file of [old, young]) fs.writeFileSync(file, "half");
    fs.utimesSync(old, 1, 1);
    write(two, content);
    expect([fs.existsSync(old), fs.existsSync(young)]).toEqual([false, true]);
  });
});

describe("Whichever call on files fails", () => {
  /** Reads, writes and reads again over files of which the n-th call fails; how many calls there were. */
  function scenario(failing: number, code: string, persistent: boolean) {
    let calls = 0;
    const names: string[] = [];
    const files = filesWith((name, call) => {
      calls += 1;
      if (calls === failing || (persistent && calls > failing)) {
        names.push(name);
        throw failure(name, code);
      }
      return call();
    });
    const cache = new CubinCache(folder, limit, { files });
    const [first, other] = [cache.read(one), cache.read(two)];
    cache.write(two, Buffer.from("code of two"));
    const last = cache.read(two);
    return { calls, names, first, other, last, problem: cache.problem };
  }

  const cases = [
    ["EIO", false],
    ["EIO", true],
    ["ENOSPC", true],
    ["EACCES", true],
    ["ENOENT", false],
    ["EISDIR", false],
  ] as const;
  it.each(cases)(
    "(%s, from then on: %s), nothing is thrown and nothing wrong comes back",
    (code, persistent) => {
      write(one, content);
      const { calls: total } = scenario(Number.POSITIVE_INFINITY, code, persistent);
      expect(total).toBeGreaterThan(20);
      const failed = new Set<string>();
      for (let failing = 1; failing <= total; failing++) {
        fs.rmSync(folder, { recursive: true });
        write(one, content);
        const { names, first, other, last, problem } = scenario(failing, code, persistent);
        for (const name of names) failed.add(name);
        const at = `call ${failing} (${names[0]})`;
        expect([undefined, content.toString()], at).toContain(first?.toString());
        expect(other, at).toBeUndefined();
        expect([undefined, "code of two"], at).toContain(last?.toString());
        // Whoever got nothing knows why, or finds it the next time.
        if (problem === undefined && names[0] !== undefined)
          expect(read(two)?.toString(), at).toBe("code of two");
        // The next process finds all that counts in order.
        write(two, Buffer.from("code of two"));
        expect(read(two)?.toString(), at).toBe("code of two");
        expect(read(one)?.toString(), at).toBe(content.toString());
      }
      const all = [
        "closeSync",
        "fstatSync",
        "fsyncSync",
        "futimesSync",
        "lstatSync",
        "mkdirSync",
        "openSync",
        "readdirSync",
        "readSync",
        "renameSync",
        "writeSync",
      ];
      expect([...failed].sort()).toEqual(expect.arrayContaining(all.sort()));
    },
  );

  it("a write that takes a few bytes at a time is finished, one that takes none is given up", () => {
    const short = filesWith((name, call, args) => {
      // Descriptor, bytes, offset, length: 7 of them.
      return name === "writeSync" ? call([...args.slice(0, 3), Math.min(7, Number(args[3]))]) : call();
    });
    const cache = new CubinCache(folder, limit, { files: short });
    cache.write(one, content);
    expect(read(one)).toEqual(content);
    const none = filesWith((name, call) => (name === "writeSync" ? 0 : call()));
    const full = new CubinCache(folder, limit, { files: none });
    full.write(two, content);
    expect(full.problem).toContain("takes no more bytes");
    expect(fs.readdirSync(folder)).toHaveLength(1);
  });
});

describe("Several processes at once", () => {
  it("see whole entries or none, and keep within the limit", async () => {
    using script = await bundle("test/cuda-runtime/session/cubin-process.ts");
    const runs = Array.from({ length: 3 }, (_, seed) => {
      const child = spawn(process.execPath, [script.path, folder, String(seed)], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let text = "";
      child.stdout.on("data", (chunk) => {
        text += String(chunk);
      });
      return new Promise<string>((resolve) => child.on("close", () => resolve(text)));
    });
    const reports: { wrong: number; found: number; problem?: string }[] = (await Promise.all(runs)).map(
      (text) => JSON.parse(text),
    );
    for (const report of reports) expect(report).toMatchObject({ wrong: 0 });
    expect(reports.map(({ problem }) => problem)).toEqual([undefined, undefined, undefined]);
    expect(reports.some(({ found }) => found > 0)).toBe(true);
    expect(fs.readdirSync(folder).every((name) => name.endsWith(".cubin"))).toBe(true);
  });
});

describe("Where the cache is", () => {
  const home = () => "/home/someone";
  const where = (env: NodeJS.ProcessEnv, homeOf = home) => chooseCache(undefined, env, homeOf);

  it("is the user's cache folder, and of a size that the environment may set", () => {
    expect(where({})).toEqual({ cache: new CubinCache("/home/someone/.cache/tc-lint/ptx", 512 * 2 ** 20) });
    for (const [text, said] of [["0", { reason: undefined }]] as const) {
      expect(where({ TC_LINT_CACHE_MB: text })).toEqual(said);
    }
    for (const text of ["-1", "1e3", "much", "1.5", " "]) {
      expect(() => where({ TC_LINT_CACHE_MB: text })).toThrow(
        /TC_LINT_CACHE_MB: found .*expected a number of MiB/,
      );
    }
  });

  it("is nowhere without a home, and never where the process happens to stand", () => {
    const nowhere = { reason: "the user has no home folder, and XDG_CACHE_HOME is not set" };
    expect(where({ XDG_CACHE_HOME: "relative" }, () => "")).toEqual(nowhere);
    expect(
      where({}, () => {
        throw failure("uv_os_homedir", "ENOENT");
      }),
    ).toEqual(nowhere);
    expect("cache" in where({ XDG_CACHE_HOME: "relative" })).toBe(true);
  });
});
