/** @file What a command line says that decides what a fix does: commands in its report say it again, so that they do when typed what their rows say. */
import type { SettingFlags } from "./resolve.ts";
import { type Scenario, scenarioFlags } from "./scenarios.ts";

/** Without a value for one that is switched. */
export type Flags = readonly (readonly [flag: string, value?: string])[];

/** As plans carry it. */
export interface Given {
  readonly settings: SettingFlags;
  readonly config: { readonly kind: "nearest" | "none" | "file"; readonly path?: string };
}

/** Of a scenario what it takes of lists, of the rest what gives one value; of sizes those that the model has a place for. */
export function flagsFor(
  { settings, config }: Given,
  scenario: Scenario | undefined,
  hasSize: (symbol: string) => boolean,
): Flags {
  const ofScenario: Flags = scenario === undefined ? [] : scenarioFlags(scenario, hasSize);
  const has = new Set(ofScenario.map(([flag, value]) => (flag === "--dim" ? `${flag} ${value}` : flag)));
  const single = [...targetFlags(settings), ...sizeFlags(settings, hasSize), ...ruleFlags(settings)];
  const isNew = ([flag, value]: Flags[number]) => !has.has(flag === "--dim" ? `${flag} ${value}` : flag);
  return [...ofScenario, ...single.filter(isNew), ...configFlags(config)];
}

function targetFlags({ gpu, stack, precision, calibration }: SettingFlags): Flags {
  return Object.entries({ gpu, stack, precision, calibration }).flatMap(
    ([name, value]): Flags => (value === undefined ? [] : [[`--${name}`, value]]),
  );
}

function sizeFlags({ dims = {}, shapes = {} }: SettingFlags, hasSize: (symbol: string) => boolean): Flags {
  return [
    ...Object.entries(dims).map(([name, size]) => ["--dim", name, String(size)] as const),
    ...Object.entries(shapes).map(([name, sizes]) => ["--shape", name, sizes.join(",")] as const),
  ].flatMap(([flag, name, size]): Flags => (hasSize(name) ? [[flag, `${name}=${size}`]] : []));
}

function ruleFlags({ select, ignore, minSaving, stackGuard }: SettingFlags): Flags {
  return [
    ...(select === undefined ? [] : [["--select", select.join(",")] as const]),
    ...(ignore === undefined ? [] : [["--ignore", ignore.join(",")] as const]),
    ...(minSaving === undefined ? [] : [["--min-saving", percentOf(minSaving)] as const]),
    ...(stackGuard === undefined ? [] : [[stackGuard ? "--stack-guard" : "--no-stack-guard"] as const]),
  ];
}

/** As `--min-saving` takes it. */
export function percentOf(part: number): string {
  return `${Number((100 * part).toPrecision(12))}%`;
}

function configFlags({ kind, path }: Given["config"]): Flags {
  if (kind === "none") return [["--no-config"]];
  return path === undefined ? [] : [["--config", path]];
}
