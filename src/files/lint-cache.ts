/**
 * @file What lint found in a model, kept under what it depends on: the version of tc-lint, the plan, and the bytes that were read. An
 * entry names the ranges that lint read of each file. The next range that lint reads follows from what it read before, so that where all
 * of them hold the same bytes, the outcome is the same, and weights of gigabytes are not looked at.
 */
import { createHash } from "node:crypto";
import { statSync } from "node:fs";
import { gunzipSync, gzipSync } from "node:zlib";
import { resolveExternal } from "../onnx/external-file.ts";
import type { CachePlan, LintOutcome, LintPlan } from "../settings/lint-plan.ts";
import { WireError } from "../wire/error.ts";
import { FileSource } from "../wire/file-source.ts";
import { readSmallFile } from "../wire/small-file.ts";
import type { ByteSource } from "../wire/source.ts";
import { readEntry, writeEntry } from "./cache-folder.ts";
import { isAsRead, type ReadBytes, RecordedSource } from "./read-record.ts";

/** Of entries' own shape. */
const format = "tc-lint lint cache 1";
const digestBytes = 32;
const mostJsonBytes = 2 ** 28;
const mostCalibrationBytes = 16 << 20;

interface KeptFile extends ReadBytes {
  /** Nanoseconds, as text: more than a number holds. */
  readonly modified: string;
}

interface Entry {
  readonly model: KeptFile;
  /** Files beside it that it names; `bytes` null: not there. `read`: what lint read of it. */
  readonly external: readonly {
    readonly location: string;
    readonly bytes: number | null;
    readonly read: ReadBytes | null;
  }[];
  readonly calibration: string | null;
  readonly outcome: LintOutcome;
}

/** Records what lint reads of a model and its external data. */
export class LintRecord {
  readonly #plan: LintPlan;
  readonly #modified: string;
  #model: RecordedSource | undefined;
  readonly #data = new Map<string, RecordedSource>();

  constructor(plan: LintPlan) {
    this.#plan = plan;
    this.#modified = modifiedAt(plan.path);
  }

  ofModel(file: ByteSource): ByteSource {
    this.#model = new RecordedSource(file);
    return this.#model;
  }

  ofData(location: string, file: ByteSource): ByteSource {
    const recorded = new RecordedSource(file);
    this.#data.set(location, recorded);
    return recorded;
  }

  /** Before the model is closed: keeps the outcome, and says how that went. */
  keep(locations: readonly string[], outcome: LintOutcome): LintOutcome["cache"] {
    try {
      return keepEntry(this.#plan, this.#entry(locations, outcome));
    } catch (error) {
      // A file was cut or replaced since lint read it: what it found then is no longer true of it.
      if (error instanceof WireError) return { isHit: false };
      throw error;
    }
  }

  /** Undefined where the file was written to while it was read. */
  #entry(locations: readonly string[], outcome: LintOutcome): Entry | undefined {
    const plan = this.#plan;
    const read = this.#model?.readBytes();
    if (read === undefined || this.#modified !== modifiedAt(plan.path)) return undefined;
    const external = locations.map((location) => ({
      location,
      bytes: resolveExternal(plan.path, location)?.bytes ?? null,
      read: this.#data.get(location)?.readBytes() ?? null,
    }));
    const { calibration } = plan.settings;
    return {
      model: { ...read, modified: this.#modified },
      external,
      calibration: calibration === null ? null : digestOf(readSmallFile(calibration, mostCalibrationBytes)),
      outcome,
    };
  }
}

export function newRecord(plan: LintPlan): LintRecord {
  return new LintRecord(plan);
}

function modifiedAt(path: string): string {
  const stats = statSync(path, { throwIfNoEntry: false, bigint: true });
  return String(stats?.mtimeNs ?? "");
}

function digestOf(bytes: Buffer | string): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function keyOf({ cache, given: _, ...plan }: LintPlan): string {
  return digestOf(JSON.stringify([format, cache?.build, plan]));
}

/** What lint would find, where that is known. Whatever is wrong with an entry, it counts as absent. */
export function knownOutcome(plan: LintPlan): LintOutcome | undefined {
  const { cache } = plan;
  if (cache === undefined) return undefined;
  const bytes = readEntry(cache.folder, keyOf(plan));
  const entry = bytes === undefined ? undefined : parseEntry(bytes);
  if (entry === undefined) return undefined;
  try {
    return isStillTrue(entry, plan, cache) ? { ...entry.outcome, cache: { isHit: true } } : undefined;
  } catch (error) {
    // What is wrong with a file is said by whoever lints it.
    if (error instanceof WireError) return undefined;
    throw error;
  }
}

function isStillTrue(
  { model, external, calibration }: Entry,
  plan: LintPlan,
  { strategy }: CachePlan,
): boolean {
  const path = plan.settings.calibration;
  const isSameCalibration =
    path === null
      ? calibration === null
      : digestOf(readSmallFile(path, mostCalibrationBytes)) === calibration;
  if (!isSameCalibration) return false;
  const isUntouched = strategy === "metadata" && modifiedAt(plan.path) === model.modified;
  return withFile(FileSource.open(plan.path), (file) => {
    if (isUntouched ? file.size !== model.bytes : !isAsRead(file, model)) return false;
    return external.every((each) => isSameData(plan.path, each));
  });
}

function isSameData(modelPath: string, { location, bytes, read }: Entry["external"][number]): boolean {
  const found = resolveExternal(modelPath, location);
  if (found === undefined || found.bytes !== bytes) return found === undefined && bytes === null;
  return read === null || withFile(FileSource.openExactly(found), (file) => isAsRead(file, read));
}

function withFile(file: FileSource, ask: (file: FileSource) => boolean): boolean {
  try {
    return ask(file);
  } finally {
    file.close();
  }
}

/** Undefined where it was cut, damaged or written by another version. */
function parseEntry(bytes: Buffer): Entry | undefined {
  const body = bytes.subarray(digestBytes);
  if (!createHash("sha256").update(body).digest().equals(bytes.subarray(0, digestBytes))) return undefined;
  const value: { readonly format: string; readonly entry: Entry } = JSON.parse(
    gunzipSync(body, { maxOutputLength: mostJsonBytes }).toString("utf8"),
  );
  return value.format === format ? value.entry : undefined;
}

/** Failures are not kept: they may be the machine's. */
function keepEntry(plan: LintPlan, entry: Entry | undefined): LintOutcome["cache"] {
  const { cache } = plan;
  if (cache === undefined || entry === undefined || entry.outcome.report.error !== null)
    return { isHit: false };
  const text = JSON.stringify({ format, entry });
  if (text.length > mostJsonBytes) return { isHit: false };
  const body = gzipSync(text, { level: 1 });
  const digest = createHash("sha256").update(body).digest();
  const problem = writeEntry(cache.folder, keyOf(plan), Buffer.concat([digest, body]));
  return { isHit: false, ...(problem === undefined ? {} : { problem }) };
}
