/** @file RuleTester: models that a rule leaves alone, models that it flags, and what its fix makes of them. */

import type { Plugin, PluginRule } from "../lint/plugin/rule.ts";
import type { Finding, ModelReport } from "../lint/result.ts";
import type { LintOptions, ModelProto } from "./lint.ts";

export interface TestCase {
  /** As the test is called; its number unless given. */
  readonly name?: string;
  /** A path, the bytes of a model, or what `testModel` makes. */
  readonly model: string | Uint8Array | ModelProto;
  readonly options?: LintOptions;
}

/** What is not said is not asked. */
export interface ExpectedFinding {
  readonly node?: string;
  readonly op?: string;
  readonly message?: string | RegExp;
  /** The part of it that is looked at. */
  readonly data?: Finding["data"];
  readonly fix?: Finding["fix"];
  /** Whether it claims a saving: one that is beyond doubt. */
  readonly saves?: boolean;
}

export interface InvalidCase extends TestCase {
  /** All that the rule finds, in any order, or how many. */
  readonly findings: number | readonly ExpectedFinding[];
  /** Operators of the model, in order, that `--fix` makes of it; it is verified as ever, which needs onnxruntime-node. */
  readonly fixed?: readonly string[];
}

export interface RuleCases {
  readonly valid?: readonly (TestCase | string)[];
  readonly invalid?: readonly InvalidCase[];
}

type Register = (name: string, work: () => void | Promise<void>) => unknown;

/** `describe` and `it` of a test runner; without them the tests run at once. Other options are those of `lint`, for every model. */
export interface RuleTesterOptions extends LintOptions {
  readonly describe?: Register;
  readonly it?: Register;
}

interface NamedTest {
  readonly name: string;
  readonly run: () => Promise<void>;
}

export class RuleTester {
  readonly #options: LintOptions;
  readonly #describe: Register | undefined;
  readonly #it: Register | undefined;

  constructor({ describe, it, ...options }: RuleTesterOptions = {}) {
    this.#options = options;
    this.#describe = describe;
    this.#it = it;
  }

  /** Registers a test for each model with the test runner; without one, runs them, and throws an Error that says what failed. */
  async run(rule: PluginRule, cases: RuleCases): Promise<void> {
    const tests = [...this.#tests(rule, cases)];
    const it = this.#it;
    if (it !== undefined) {
      const register = () => {
        for (const { name, run } of tests) it(name, run);
      };
      if (this.#describe === undefined) register();
      else this.#describe(rule.name, register);
      return;
    }
    const failures: string[] = [];
    for (const { name, run } of tests) {
      await run().catch((error: unknown) => {
        failures.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
      });
    }
    if (failures.length > 0)
      throw new Error(`${rule.name}: ${failures.length} of ${tests.length} failed\n${failures.join("\n")}`);
  }

  *#tests(rule: PluginRule, { valid = [], invalid = [] }: RuleCases): Generator<NamedTest> {
    for (const [index, given] of valid.entries()) {
      const one = typeof given === "string" ? { name: given, model: given } : given;
      yield {
        name: `leaves ${one.name ?? `valid[${index}]`}`,
        run: async () => expectFindings(await this.#found(rule, one), []),
      };
    }
    for (const [index, one] of invalid.entries()) {
      yield { name: `flags ${one.name ?? `invalid[${index}]`}`, run: () => this.#invalid(rule, one) };
    }
  }

  async #invalid(rule: PluginRule, one: InvalidCase): Promise<void> {
    expectFindings(await this.#found(rule, one), one.findings);
    if (one.fixed === undefined) return;
    const made = await operatorsOfFixed(one.model, this.#optionsOf(rule, one));
    const [found, expected] = [made.join(", "), one.fixed.join(", ")];
    if (found !== expected) throw new Error(`fixed: found ${found}, expected ${expected}`);
  }

  #optionsOf(rule: PluginRule, { options = {} }: TestCase): LintOptions {
    const plugin: Plugin = { name: "tested", rules: [rule] };
    return {
      rules: { TC: "off" },
      minSaving: 0,
      ...this.#options,
      ...options,
      plugins: [plugin],
      verbose: true,
    };
  }

  /** All that the rule finds, also what reports sum up. */
  async #found(rule: PluginRule, one: TestCase): Promise<readonly Finding[]> {
    const { lint } = await import("./lint.ts");
    const { findings, unlisted, error }: ModelReport = await lint(one.model, this.#optionsOf(rule, one));
    if (error !== null) throw new Error(error.message);
    return [...findings, ...(unlisted?.findings ?? [])].filter(({ code }) => code === `tested/${rule.name}`);
  }
}

function expectFindings(found: readonly Finding[], expected: InvalidCase["findings"]): void {
  const said = found.map((finding) => `\n  ${textOf(finding)}`).join("") || " none";
  const count = typeof expected === "number" ? expected : expected.length;
  if (found.length !== count) throw new Error(`expected ${count} findings, found ${found.length}:${said}`);
  const left = new Set(found);
  for (const wanted of typeof expected === "number" ? [] : expected) {
    const fitting = [...left].find((finding) => isExpected(finding, wanted));
    if (fitting === undefined) throw new Error(`expected ${described(wanted)}, found:${said}`);
    left.delete(fitting);
  }
}

function textOf({ node, op, message, fix, saves }: Finding): string {
  const saved = saves === null ? "nothing" : `${saves.low} to ${saves.high} µs`;
  return `${node} (${op}): ${message} (fix ${fix}, saves ${saved})`;
}

function isExpected(finding: Finding, { message, data, saves, ...wanted }: ExpectedFinding): boolean {
  const { message: said } = finding;
  const isSaid =
    message === undefined || (typeof message === "string" ? said === message : message.test(said));
  const isData = Object.entries(data ?? {}).every(
    ([key, value]) => JSON.stringify(finding.data[key]) === JSON.stringify(value),
  );
  const isSaving = saves === undefined || saves === (finding.saves?.low ?? 0) > 0;
  const { node = finding.node, op = finding.op, fix = finding.fix } = wanted;
  return isSaid && isData && isSaving && node === finding.node && op === finding.op && fix === finding.fix;
}

function described(wanted: ExpectedFinding): string {
  return JSON.stringify(wanted, (_key, value) => (value instanceof RegExp ? String(value) : value));
}

async function operatorsOfFixed(model: TestCase["model"], options: LintOptions): Promise<string[]> {
  const { fixedOperators } = await import("./fixed-operators.ts");
  // What lint alone is told.
  const {
    name: _,
    layers: _layers,
    drawings: _drawings,
    verbose: _verbose,
    calibration: _file,
    ...own
  } = options;
  return fixedOperators(model, own);
}
