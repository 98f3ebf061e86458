/** @file What `ncu --csv --page raw` prints: a line of names, a line of units, a line for each launch; and messages around them. */
import { InputError } from "../../ir/errors.ts";

export interface CountedLaunch {
  readonly kernel: string;
  /** By metric, in base units: nanoseconds, bytes, percent, counts. What is no number is not there. */
  readonly values: ReadonlyMap<string, number>;
}

/** Launches in the order of the run. Empty where nothing was profiled. Throws InputError `ncu-output`. */
export function launchesOf(output: string): CountedLaunch[] {
  const lines = output.split(/\r?\n/).filter((line) => line.startsWith('"'));
  const start = lines.findIndex((line) => line.startsWith('"ID",'));
  if (start < 0) return [];
  const [names = [], units = [], ...rows] = lines.slice(start).map(cellsOf);
  const kernelAt = names.indexOf("Kernel Name");
  if (kernelAt < 0)
    throw new InputError("ncu-output", "ncu names no kernels: there is no column Kernel Name");
  return rows
    .filter((cells) => cells.length === names.length && /^\d+$/.test(cells[0] ?? ""))
    .sort((a, b) => Number(a[0]) - Number(b[0]))
    .map((cells) => ({ kernel: cells[kernelAt] ?? "", values: valuesOf(names, units, cells) }));
}

function valuesOf(
  names: readonly string[],
  units: readonly string[],
  cells: readonly string[],
): Map<string, number> {
  const values = new Map<string, number>();
  for (const [at, name] of names.entries()) {
    // Metrics have a unit in front of their name; what is in front of them describes the launch.
    const value = name.includes("__") ? numberOf(cells[at] ?? "") : undefined;
    if (value !== undefined) values.set(name, value * scaleOf(units[at] ?? "", name));
  }
  return values;
}

/** `1,234.50`; undefined for `n/a`, `nan` and nothing. */
function numberOf(text: string): number | undefined {
  if (!/^-?[\d,]*\.?\d+(e[+-]?\d+)?$/i.test(text.trim())) return undefined;
  return Number(text.replaceAll(",", ""));
}

/** Of units that have a scale, what comes in front of the name; older versions write nsecond, newer ns. */
const units: Readonly<Record<string, number>> = {
  ns: 1,
  nsecond: 1,
  us: 1e3,
  usecond: 1e3,
  ms: 1e6,
  msecond: 1e6,
  s: 1e9,
  second: 1e9,
  byte: 1,
  Kbyte: 1e3,
  Mbyte: 1e6,
  Gbyte: 1e9,
  Tbyte: 1e12,
};

function scaleOf(unit: string, name: string): number {
  if (Object.hasOwn(units, unit)) return units[unit] ?? 1;
  if (/^(|%|inst|cycle|warp|block|register.*|thread)$/.test(unit)) return 1;
  // What is not asked for may be in any unit.
  if (!/^(gpu__time|dram__bytes|sm__)/.test(name)) return 1;
  throw new InputError("ncu-output", `ncu gives ${name} in "${unit}", which is no unit that is known`);
}

/** RFC 4180, one line: quotes are doubled within quotes. */
export function cellsOf(line: string): string[] {
  const cells: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^,]*))(,|$)/y;
  for (let match = cell.exec(line); match !== null; match = cell.exec(line)) {
    cells.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? "");
    if (match[3] === "") break;
  }
  return cells;
}
