/** @file One case of the kernels' tests on the GPU: checked, timed, counted by Nsight Compute. */
import { caseFamilies } from "../files/kernel-cases.ts";
import { casesIn, casesUrl, moduleOf } from "../gpu/case/module.ts";
import { type CaseMode, type CaseReport, type CaseTask, caseReport } from "../gpu/case/report.ts";
import { mixMetrics, stepMetrics } from "../gpu/counters/metrics.ts";
import { countLaunches } from "../gpu/counters/ncu.ts";
import { askGpu, childUrl, type GpuLimits, kernelsUrl } from "../gpu/process.ts";
import { architectureOf } from "../hardware/architectures.ts";
import { InputError } from "../ir/errors.ts";
import { counted } from "../ir/format.ts";
import { closest } from "../settings/closest.ts";

export interface CaseRequest {
  readonly name: string;
  readonly mode: CaseMode;
  readonly device: number;
  /** Nsight Compute's program; undefined: on the PATH, or where CUDA puts it. */
  readonly ncu: string | undefined;
}

/** `family/case`, of all that are bundled here. Throws InputError `cases-missing`. */
export async function caseNames(): Promise<readonly string[]> {
  const names = caseFamilies(casesUrl).map(async (family) =>
    (await casesIn(moduleOf(family))).map(({ name }) => `${family}/${name}`),
  );
  return (await Promise.all(names)).flat();
}

/** Throws InputError: `usage` for a name that is none, no GPU, or `ncu-…`. A wrong result is one. */
export async function benchCase(
  { name, mode, device, ncu }: CaseRequest,
  limits: GpuLimits,
): Promise<CaseReport> {
  const module = await moduleWith(name);
  const task = { kind: "case", device, kernels: kernelsUrl, module, name } as const;
  const run = await askGpu({ ...task, mode: mode === "check" ? "check" : "time" }, limits);
  if (mode !== "ncu" || run.problem !== undefined) return caseReport(name, mode, run, undefined);
  const mix = mixMetrics(architectureOf(run.device.computeCapability));
  const metrics = [...Object.values(stepMetrics), ...Object.values(mix)];
  const counting: CaseTask = { ...task, mode: "counted" };
  const launches = await countLaunches(counting, { ...limits, ncu, childUrl, metrics });
  return caseReport(name, mode, run, { run: launches, mix });
}

async function moduleWith(name: string): Promise<string> {
  const names = await caseNames();
  const [family = ""] = name.split("/");
  if (names.includes(name)) return moduleOf(family);
  const isFamily = names.some((each) => each.startsWith(`${name}/`));
  const nearest = isFamily ? undefined : closest(name, names);
  const hint = nearest === undefined ? someOf(name, names) : `; did you mean "${nearest}"?`;
  throw new InputError("usage", `--case: there is no case "${name}"${hint}`);
}

/** Enough to see how names are. */
const shown = 5;

function someOf(part: string, names: readonly string[]): string {
  const [family = ""] = part.split("/");
  const ofFamily = (wanted: string) => names.filter((name) => name.startsWith(`${wanted}/`));
  const holding = names.filter((name) => name.includes(part));
  if (holding.length > 0 && part !== family) return `; its name is in ${listed(holding)}`;
  const related = ofFamily(family);
  if (related.length > 0) return `; ${family} has ${listed(related)}`;
  if (holding.length > 0) return `; its name is in ${listed(holding)}`;
  const families = [...countedByFamily(names).keys()];
  const likely = closest(family, families);
  return likely === undefined
    ? `; families are ${families.join(", ")}`
    : `; ${likely} has ${listed(ofFamily(likely))}`;
}

function listed(names: readonly string[]): string {
  const more = names.length > shown ? ` and ${names.length - shown} more` : "";
  return `${names.slice(0, shown).join(", ")}${more}`;
}

/** How many cases each family has, in order. */
function countedByFamily(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) {
    const [family = ""] = name.split("/");
    counts.set(family, (counts.get(family) ?? 0) + 1);
  }
  return counts;
}

/** A line each: `conv: 143 cases, as conv/1x1`. Throws InputError `cases-missing`. */
export async function caseFamilyLines(): Promise<readonly string[]> {
  const names = await caseNames();
  return [...countedByFamily(names)].map(([family, count]) => {
    const first = names.find((name) => name.startsWith(`${family}/`)) ?? "";
    return `${family}: ${counted(count, "case")}, as ${first}`;
  });
}
