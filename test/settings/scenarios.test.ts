/** Combinations of flags, scenarios of configurations, and what is wrong with either. */
import { describe, expect, test } from "vitest";
import { rules } from "../../rules/index.ts";
import type { Config } from "../../src/config.ts";
import { InputError } from "../../src/ir/errors.ts";
import { checkConfig } from "../../src/settings/check.ts";
import {
  type Axes,
  combinationsOf,
  configuredScenarios,
  namedScenarios,
  scenarioName,
  singleOf,
} from "../../src/settings/scenarios.ts";
import { configSchema } from "../../src/settings/schema.ts";

const nothing: Axes = { gpu: [], stack: [], precision: [], dims: {} };

function messageOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof InputError) return error.message;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("combinations of flags", () => {
  test("are none where no flag lists several values", () => {
    const axes: Axes = { ...nothing, gpu: ["l4"], dims: { batch: [8] } };
    expect(combinationsOf(axes)).toEqual([]);
    expect(singleOf(axes)).toEqual({ gpu: "l4", stack: undefined, precision: undefined, dims: { batch: 8 } });
    expect(singleOf(nothing).dims).toBeUndefined();
  });

  test("are called by the values that differ, and have the others too", () => {
    const axes: Axes = {
      gpu: ["l4", "a100"],
      stack: ["ort-cuda"],
      precision: [],
      dims: { batch: [1, 8], seq: [128] },
    };
    const scenarios = combinationsOf(axes);
    expect(scenarios.map((scenario) => scenarioName(scenario))).toEqual([
      "l4, batch=1",
      "l4, batch=8",
      "a100, batch=1",
      "a100, batch=8",
    ]);
    expect(scenarios[3]?.settings).toEqual({
      gpu: "a100",
      stack: "ort-cuda",
      precision: undefined,
      dims: { batch: 8, seq: 128 },
    });
  });

  test("leave sizes out of their names that a model has no place for", () => {
    const [first] = combinationsOf({ ...nothing, gpu: ["l4", "t4"], dims: { batch: [1, 8] } });
    expect(first && scenarioName(first, () => false)).toBe("l4");
  });

  test("take a size of any name", () => {
    const [first] = combinationsOf({ ...nothing, dims: Object.fromEntries([["__proto__", [1, 2]]]) });
    expect(Object.entries(first?.settings.dims ?? {})).toEqual([["__proto__", 1]]);
  });

  test("are 64 at most", () => {
    const sizes = Array.from({ length: 32 }, (_, size) => size);
    expect(combinationsOf({ ...nothing, gpu: ["l4", "t4"], dims: { batch: sizes } })).toHaveLength(64);
    expect(
      messageOf(() => combinationsOf({ ...nothing, gpu: ["l4", "t4", "h100"], dims: { batch: sizes } })),
    ).toBe("--gpu, --dim batch: 3 × 32 = 96 combinations, expected at most 64");
  });
});

describe("scenarios of a configuration", () => {
  const chainOf = (...configs: Config[]) => ({
    folder: "/repo",
    layers: configs.map((config, index) => ({ file: `/repo/${index}.json`, config })),
  });

  test("are those of the nearest file that has any", () => {
    const base = { scenarios: [{ name: "base" }] };
    const own = {
      scenarios: [
        { name: "edge", gpu: "orin" },
        { name: "cloud", dims: { batch: 32 } },
      ],
    };
    const names = (...configs: Config[]) =>
      configuredScenarios(chainOf(...configs))?.scenarios.map((scenario) => scenarioName(scenario));
    expect(names(base, own)).toEqual(["edge", "cloud"]);
    expect(names(base, { gpu: "l4" })).toEqual(["base"]);
    expect(names(base, { scenarios: [] })).toBeUndefined();
    expect(configuredScenarios(undefined)).toBeUndefined();
  });

  test("have a name each", () => {
    const twice = chainOf({ scenarios: [{ name: "edge" }, { name: "edge" }] });
    expect(messageOf(() => configuredScenarios(twice))).toBe(
      '/repo/0.json: scenarios: "edge" is named twice',
    );
  });

  test("are picked by name", () => {
    const configured = configuredScenarios(chainOf({ scenarios: [{ name: "edge" }, { name: "cloud" }] }));
    expect(namedScenarios(configured, ["cloud"]).map(({ name }) => name)).toEqual(["cloud"]);
    expect(messageOf(() => namedScenarios(configured, ["clouds"]))).toBe(
      '--scenario: found "clouds", expected one of "edge", "cloud" (/repo/0.json); did you mean "cloud"?',
    );
    expect(messageOf(() => namedScenarios(undefined, ["cloud"]))).toContain("no configuration has scenarios");
  });

  const schema = configSchema(rules);

  test.each<[unknown, RegExp]>([
    [[{ gpu: "l4" }], /^c\.json: scenarios\[0\]: lacks "name"$/],
    [[{ name: "a", gpu: "abacus" }], /^c\.json: scenarios\[0\]\.gpu: found "abacus", expected one of/],
    [[{ name: "a", stack: "cuddn" }], /^c\.json: scenarios\[0\]\.stack: .*did you mean "cudnn"\?$/],
    [[{ name: "a", precision: "fp8" }], /^c\.json: scenarios\[0\]\.precision: found "fp8", expected one of/],
    [
      [{ name: "a" }, { name: "b", dims: { n: -1 } }],
      /^c\.json: scenarios\[1\]\.dims\.n: found -1, expected/,
    ],
    [[{ name: "a", dim: {} }], /^c\.json: scenarios\[0\]\.dim: unknown key; did you mean "dims"\?$/],
    [[{ name: "a, b" }], /^c\.json: scenarios\[0\]\.name: found "a, b", expected a name .* without commas$/],
    [[{ name: "" }], /^c\.json: scenarios\[0\]\.name: found "", expected a name/],
    [
      Array.from({ length: 65 }, (_, index) => ({ name: `s${index}` })),
      /^c\.json: scenarios: found 65 entries, expected at most 64$/,
    ],
  ])("%j is refused", (scenarios, message) => {
    expect(messageOf(() => checkConfig({ scenarios }, schema, "c.json"))).toMatch(message);
  });
});
