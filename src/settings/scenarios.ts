/** @file Several sizes, GPUs, stacks and precisions in one run: combinations of flags, or scenarios of a configuration. */
import { findGpu } from "../hardware/gpus.ts";
import { InputError } from "../ir/errors.ts";
import type { ConfigChain } from "./chain.ts";
import { suggestion } from "./closest.ts";
import { toDisplayPath } from "./paths.ts";
import type { SettingFlags } from "./resolve.ts";

/** What each flag lists, to be taken in turn. Nothing where a flag is not given. */
export interface Axes {
  readonly gpu: readonly string[];
  readonly stack: readonly string[];
  readonly precision: readonly NonNullable<SettingFlags["precision"]>[];
  readonly dims: Readonly<Record<string, readonly number[]>>;
}

/** What one scenario says; it stands above configurations, as flags do. */
export type ScenarioSettings = Pick<SettingFlags, "gpu" | "stack" | "precision" | "dims">;

/** The flags that say something. */
export function flagsOf({ gpu, stack, precision, dims }: Axes): string[] {
  const given = { gpu, stack, precision, dim: Object.keys(dims) };
  return Object.entries(given).flatMap(([flag, values]) => (values.length > 0 ? [`--${flag}`] : []));
}

/** What a command line says of scenarios. */
export interface ScenarioChoice {
  /** Those of the flags that list several values. */
  readonly combinations: readonly Scenario[];
  /** Of a configuration's, these; undefined: all. */
  readonly only: readonly string[] | undefined;
  /** The flags that a configuration's scenarios give way to. */
  readonly flags: readonly string[];
}

/** One combination that models are linted at, where there are several. */
export interface Scenario {
  /** As its configuration calls it; undefined for a combination of flags, which is called by what it takes of lists. */
  readonly name: string | undefined;
  /** GPU, stack and precision, where their flags list several. */
  readonly listed: readonly string[];
  /** Sizes, where their flags list several. */
  readonly sizes: Readonly<Record<string, number>>;
  readonly settings: ScenarioSettings;
}

/** More are no table that anyone reads, and a lint each. */
export const mostScenarios = 64;

/** What flags say that give one value each. */
export function singleOf({ gpu, stack, precision, dims }: Axes): ScenarioSettings {
  const only = <T>(values: readonly T[]) => (values.length === 1 ? values[0] : undefined);
  const sizes = Object.entries(dims).flatMap(([name, values]) =>
    values.length === 1 && values[0] !== undefined ? [[name, values[0]] as const] : [],
  );
  return {
    gpu: only(gpu),
    stack: only(stack),
    precision: only(precision),
    dims: sizes.length > 0 ? Object.fromEntries(sizes) : undefined,
  };
}

/** Every combination of what flags list; none where no flag lists several. Throws InputError `usage` for too many. */
export function combinationsOf(axes: Axes): Scenario[] {
  const choices = [...targetChoices(axes), ...sizeChoices(axes)];
  if (choices.length === 0) return [];
  checkCount(choices);
  let scenarios: Scenario[] = [{ name: undefined, listed: [], sizes: {}, settings: singleOf(axes) }];
  for (const { steps } of choices)
    scenarios = scenarios.flatMap((before) => steps.map((step) => step(before)));
  return scenarios;
}

/** A flag that lists several values, and what each of them adds to a scenario. */
interface Choice {
  readonly flag: string;
  readonly steps: readonly ((before: Scenario) => Scenario)[];
}

function targetChoices(axes: Axes): Choice[] {
  return (["gpu", "stack", "precision"] as const).flatMap((key): Choice[] => {
    const values = axes[key];
    if (values.length < 2) return [];
    const steps = values.map((value) => (before: Scenario) => ({
      ...before,
      listed: [...before.listed, key === "gpu" ? (findGpu(value)?.id ?? value) : value],
      settings: { ...before.settings, [key]: value },
    }));
    return [{ flag: `--${key}`, steps }];
  });
}

function sizeChoices({ dims }: Axes): Choice[] {
  return Object.entries(dims).flatMap(([name, sizes]): Choice[] => {
    if (sizes.length < 2) return [];
    const withSize = (record: Readonly<Record<string, number>> | undefined, size: number) =>
      Object.fromEntries([...Object.entries(record ?? {}), [name, size]]);
    const steps = sizes.map((size) => (before: Scenario) => ({
      ...before,
      sizes: withSize(before.sizes, size),
      settings: { ...before.settings, dims: withSize(before.settings.dims, size) },
    }));
    return [{ flag: `--dim ${name}`, steps }];
  });
}

function checkCount(choices: readonly Choice[]): void {
  const count = choices.reduce((product, { steps }) => product * steps.length, 1);
  if (count <= mostScenarios) return;
  const flags = choices.map(({ flag }) => flag).join(", ");
  const product = choices.map(({ steps }) => steps.length).join(" × ");
  const found = choices.length > 1 ? `${product} = ${count}` : product;
  throw new InputError("usage", `${flags}: ${found} combinations, expected at most ${mostScenarios}`);
}

/** How reports name it; of its sizes, those that the model has a place for. Empty where nothing tells it from others. */
export function scenarioName(
  { name, listed, sizes }: Scenario,
  hasSize: (symbol: string) => boolean = () => true,
): string {
  const kept = Object.entries(sizes).filter(([symbol]) => hasSize(symbol));
  return name ?? [...listed, ...kept.map(([symbol, size]) => `${symbol}=${size}`)].join(", ");
}

/**
 * What a command takes that is of this scenario alone, instead of the flags that list several: of its sizes those that the model has a
 * place for.
 */
export function scenarioFlags(
  { name, listed, sizes, settings }: Scenario,
  hasSize: (symbol: string) => boolean,
): readonly (readonly [flag: string, value: string])[] {
  if (name !== undefined) return [["--scenario", name]];
  const targets = (["gpu", "stack", "precision"] as const).flatMap((key) => {
    const value = key === "gpu" ? findGpu(settings.gpu ?? "")?.id : settings[key];
    return value !== undefined && listed.includes(value) ? [[`--${key}`, value] as const] : [];
  });
  const kept = Object.entries(sizes).filter(([symbol]) => hasSize(symbol));
  return [...targets, ...kept.map(([symbol, size]) => ["--dim", `${symbol}=${size}`] as const)];
}

/** Scenarios as a configuration has them, and the file that has them. */
export interface ConfiguredScenarios {
  readonly file: string;
  readonly scenarios: readonly Scenario[];
}

/** Those of the nearest file that has any; undefined where none does. Throws InputError `bad-config` for a name given twice. */
export function configuredScenarios(chain: ConfigChain | undefined): ConfiguredScenarios | undefined {
  const layer = chain?.layers.findLast(({ config }) => config.scenarios !== undefined);
  const scenarios = layer?.config.scenarios ?? [];
  if (layer === undefined || scenarios.length === 0) return undefined;
  const file = toDisplayPath(layer.file);
  const names = scenarios.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) < index);
  if (twice !== undefined)
    throw new InputError("bad-config", `${file}: scenarios: ${JSON.stringify(twice)} is named twice`);
  return {
    file,
    scenarios: scenarios.map(({ name, ...settings }) => ({ name, listed: [], sizes: {}, settings })),
  };
}

/** Those of a configuration that `--scenario` names. Throws InputError `unknown-scenario`. */
export function namedScenarios(
  configured: ConfiguredScenarios | undefined,
  names: readonly string[],
): readonly Scenario[] {
  if (configured === undefined)
    throw new InputError(
      "unknown-scenario",
      `--scenario: found "${names[0]}", but no configuration has scenarios`,
    );
  const { file, scenarios } = configured;
  const known = scenarios.flatMap(({ name }) => name ?? []);
  const unknown = names.find((name) => !known.includes(name));
  if (unknown === undefined)
    return scenarios.filter(({ name }) => name !== undefined && names.includes(name));
  const has = known.map((name) => JSON.stringify(name)).join(", ");
  throw new InputError(
    "unknown-scenario",
    `--scenario: found "${unknown}", expected one of ${has} (${file})${suggestion(unknown, known)}`,
  );
}
