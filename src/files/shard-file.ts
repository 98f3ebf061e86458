/**
 * @file The file of a shard's report: lines of JSON, a header, a model each, then the sources and a digest of all before it, by which a
 * file that was cut or damaged is known. Written and read a line at a time: ten thousand models are no string.
 */
import { createHash } from "node:crypto";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { InputError } from "../ir/errors.ts";
import {
  type ShardHeader,
  type ShardModel,
  type ShardReport,
  type Sources,
  shardFormat,
  shardKind,
} from "../settings/shard-report.ts";
import { WireError } from "../wire/error.ts";
import { FileSource } from "../wire/file-source.ts";
import { readRange } from "../wire/source.ts";
import { statOf } from "./look.ts";
import { writeReportPieces } from "./report-file.ts";

export const shardEnding = ".blob";

/** A model of a hundred thousand layers has a line of a hundred megabytes. */
const longestLine = 2 ** 28;
const pieceBytes = 2 ** 20;

/** Throws InputError. */
export function writeShardFile(path: string, report: ShardReport): void {
  writeReportPieces(path, linesOf(report));
}

function* linesOf({ header, models, sources }: ShardReport): Generator<string> {
  const hash = createHash("sha256");
  const line = (value: unknown) => {
    const text = `${JSON.stringify(value)}\n`;
    hash.update(text);
    return text;
  };
  yield line(header);
  for (const model of models) yield line(model);
  yield line({ sources });
  yield `${JSON.stringify({ sha256: hash.digest("hex") })}\n`;
}

/** The files that arguments of `merge-reports` stand for: of a folder, those that end with `.blob`. Throws InputError. */
export function shardFiles(paths: readonly string[]): string[] {
  return paths.flatMap((path) => {
    const seen = statOf(path);
    if (typeof seen === "string" || !seen.isDirectory()) return [path];
    const names = readdirSync(path).filter((name) => name.endsWith(shardEnding));
    if (names.length === 0)
      throw new InputError("bad-shard", `${path}: no file there ends with ${shardEnding}`);
    return names.sort().map((name) => join(path, name));
  });
}

/** `kept`: what of a model is needed, which is asked as each is read. Throws InputError `bad-shard`. */
export function readShardFile(path: string, kept: (model: ShardModel) => ShardModel): ShardReport {
  try {
    const file = FileSource.open(path);
    try {
      return new Reader(file).report(kept);
    } finally {
      file.close();
    }
  } catch (error) {
    if (error instanceof WireError) throw new InputError("bad-shard", error.message, { cause: error });
    throw error;
  }
}

const damage = "was cut or changed after it was written; lint this shard again";

class Reader {
  readonly #file: FileSource;

  constructor(file: FileSource) {
    this.#file = file;
  }

  report(kept: (model: ShardModel) => ShardModel): ShardReport {
    this.#checkKind();
    if (!this.#isWhole()) throw this.#bad(damage);
    let header: ShardHeader | undefined;
    const models: ShardModel[] = [];
    for (const line of this.#lines()) {
      const value = this.#valueOf(line);
      if (header === undefined) header = this.#headerOf(value);
      else if (Array.isArray(value["sources"]))
        return { header, models, sources: value["sources"] as unknown as Sources };
      else models.push(kept(value as unknown as ShardModel));
    }
    throw this.#bad(damage);
  }

  /** Read once more for it, before anything of it is believed. */
  #isWhole(): boolean {
    const hash = createHash("sha256");
    let last: string | undefined;
    for (const line of this.#lines()) {
      if (last !== undefined) hash.update(last).update("\n");
      last = line;
    }
    return last === JSON.stringify({ sha256: hash.digest("hex") });
  }

  #bad(what: string, cause?: unknown): InputError {
    return new InputError("bad-shard", `${this.#file.name}: ${what}`, { cause });
  }

  /** Other files are known by how they begin: reports may be large, and models larger. */
  #checkKind(): void {
    const start = readRange(this.#file, 0, Math.min(this.#file.size, 4096)).toString("utf8");
    if (start.startsWith(`{"kind":${JSON.stringify(shardKind)}`)) return;
    const isOurs = /^\s*\{\s*"version":\s*1,\s*"tool":\s*\{\s*"name":\s*"tc-lint"/.test(start);
    const what = isOurs ? "is a report of tc-lint's for programs" : "is no report of tc-lint's";
    throw this.#bad(`${what}; merge-reports takes what -f blob=PATH writes`);
  }

  #valueOf(line: string): Readonly<Record<string, unknown>> {
    try {
      const value: unknown = JSON.parse(line);
      if (typeof value === "object" && value !== null) return value as Readonly<Record<string, unknown>>;
    } catch (error) {
      throw this.#bad(damage, error);
    }
    throw this.#bad(damage);
  }

  #headerOf(value: Readonly<Record<string, unknown>>): ShardHeader {
    if (value["format"] !== shardFormat)
      throw this.#bad(`is written by tc-lint ${String(value["version"])}, whose shards this one cannot read`);
    return value as unknown as ShardHeader;
  }

  *#lines(): Generator<string> {
    let rest: Buffer[] = [];
    let length = 0;
    for (let at = 0; at < this.#file.size; at += pieceBytes) {
      const piece = readRange(this.#file, at, Math.min(pieceBytes, this.#file.size - at));
      let from = 0;
      for (let end = piece.indexOf(10); end >= 0; end = piece.indexOf(10, from)) {
        yield Buffer.concat([...rest, piece.subarray(from, end)]).toString("utf8");
        [rest, length, from] = [[], 0, end + 1];
      }
      rest.push(piece.subarray(from));
      length += piece.length - from;
      if (length > longestLine) throw this.#bad(`has a line of more than ${longestLine} bytes`);
    }
    if (length > 0) yield Buffer.concat(rest).toString("utf8");
  }
}
