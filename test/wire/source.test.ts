import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FileSource } from "../../src/wire/file-source.ts";
import { readRange } from "../../src/wire/source.ts";

describe("FileSource", () => {
  let folder = "";
  const at = (name: string) => path.join(folder, name);
  const code = (value: string) => expect.objectContaining({ name: "WireError", code: value });

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), "tc-lint-source-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it("reads ranges", () => {
    writeFileSync(at("plain"), "0123456789");
    const source = FileSource.open(at("plain"));
    expect(source.size).toBe(10);
    expect(readRange(source, 3, 4).toString()).toBe("3456");
    expect(() => readRange(source, 8, 3)).toThrow(code("truncated"));
    expect(() => readRange(source, -1, 3)).toThrow(code("truncated"));
    source.close();
    source.close();
  });

  it("notices that the file became shorter", () => {
    writeFileSync(at("shrinks"), "0123456789");
    const source = FileSource.open(at("shrinks"));
    truncateSync(at("shrinks"), 4);
    expect(() => readRange(source, 0, 10)).toThrow(code("truncated"));
    source.close();
  });

  it("follows a symbolic link that the user names", () => {
    writeFileSync(at("target"), "abc");
    symlinkSync("target", at("link"));
    const source = FileSource.open(at("link"));
    expect(readRange(source, 0, 3).toString()).toBe("abc");
    source.close();
  });

  it("refuses what is not a regular file, without waiting for it", () => {
    mkdirSync(at("folder"));
    execFileSync("mkfifo", [at("pipe")]);
    expect(() => FileSource.open(at("folder"))).toThrow(code("not-a-file"));
    expect(() => FileSource.open(at("pipe"))).toThrow(code("not-a-file"));
    expect(() => FileSource.open("/dev/zero")).toThrow(code("not-a-file"));
    expect(() => FileSource.open(at("absent"))).toThrow(code("not-found"));
    symlinkSync("loop", at("loop"));
    expect(() => FileSource.open(at("loop"))).toThrow(code("symbolic-link"));
    expect(() => FileSource.open(at("plain/below"))).toThrow(code("not-found"));
  });

  it("opens exactly the file that was checked, and no other in its place", () => {
    writeFileSync(at("checked"), "good");
    writeFileSync(at("secret"), "evil");
    const { dev: device, ino: inode } = statSync(at("checked"));
    const identity = { path: at("checked"), device, inode };
    const source = FileSource.openExactly(identity);
    expect(readRange(source, 0, 4).toString()).toBe("good");
    source.close();
    renameSync(at("checked"), at("moved"));
    writeFileSync(at("checked"), "evil");
    expect(() => FileSource.openExactly(identity)).toThrow(code("file-changed"));
    rmSync(at("checked"));
    symlinkSync("moved", at("checked"));
    expect(() => FileSource.openExactly(identity)).toThrow(code("symbolic-link"));
  });
});
