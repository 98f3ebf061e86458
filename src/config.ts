/** @file `tc-lint/config`: the shape of a configuration file, and a helper that gives editors its type. */
import type { StackId } from "./hardware/stacks.ts";
import type { Precision } from "./hardware/target.ts";
import type { Severity } from "./lint/result.ts";

/** "off" switches a rule off; a severity replaces the rule's own. */
export type RuleSetting = Severity | "off";

/** By code (`TC102`, `acme/no-big-softmax`), by name (`misaligned-gemm`), or by the start of codes (`TC1`, `acme/`). The more specific key wins. */
export type RuleSettings = Readonly<Record<string, RuleSetting>>;

/** Part of a run's time: 0.005, or "0.5%". */
export type Share = number | `${number}%` | `${number} %`;

/** Rules for some files, or for some nodes of them. Later overrides win. */
export interface Override {
  /** Globs of model files, relative to the configuration's folder. Left out: every file. */
  readonly files?: readonly string[];
  /** Globs of node names, where `*` also matches `/`. Left out: every node. */
  readonly nodes?: readonly string[];
  /** Operators: `Conv`, `com.microsoft::FusedConv`. Left out: every operator. */
  readonly ops?: readonly string[];
  readonly rules: RuleSettings;
  /** Why: reports say it of what is switched off (`--show-suppressed`). */
  readonly reason?: string;
}

/** One of several targets or sizes that every model is linted at; what it leaves out is as the configuration says. */
export interface ScenarioConfig {
  /** As reports and `--scenario` call it. */
  readonly name: string;
  readonly gpu?: string;
  readonly stack?: StackId;
  readonly precision?: Precision;
  /** Beside those of the configuration, and above them. */
  readonly dims?: Readonly<Record<string, number>>;
}

/** What a model may take on one target: checked by lint and compare, failed only where the whole 90 % interval is beyond it. */
export interface BudgetConfig {
  /** A row of `tc-lint gpus`: the model is priced for it, whatever GPU it is linted for. */
  readonly gpu: string;
  /** Left out: as the model is linted. */
  readonly stack?: StackId;
  readonly precision?: Precision;
  /** A glob of model files, or several, relative to the configuration's folder. Left out: every file. */
  readonly files?: string | readonly string[];
  /** Of one run. */
  readonly maxMicroseconds?: number;
  /** Least part of the time that products on Tensor Cores take: 0.8, or "80%". */
  readonly minTensorCoreShare?: Share;
  /** Most that a change may add to the time, of the time before: 0.05, or "5 %". `tc-lint compare` checks it. */
  readonly maxRegression?: Share;
}

export interface Config {
  /** For editors. */
  readonly $schema?: string;
  /** Configurations to start from: paths relative to this file, or packages. */
  readonly extends?: string | readonly string[];
  /** Modules with rules of your own: paths relative to this file, or packages. They are run, so only configurations that may run code have any. */
  readonly plugins?: readonly string[];
  readonly rules?: RuleSettings;
  /** A row of `tc-lint gpus`. */
  readonly gpu?: string;
  readonly stack?: StackId;
  readonly precision?: Precision;
  /** Findings that save less are summed up in one line. Default 0.5 %. */
  readonly minSaving?: Share;
  /** A warning that is worth at least this much is an error. Default 5 %. */
  readonly errorShare?: Share;
  /** Whether safe fixes are left that slow the model down by more than 2 % on a stack that was measured. Default true. */
  readonly stackGuard?: boolean;
  /** Sizes of graph inputs by name; models without such an input pass them over. */
  readonly shapes?: Readonly<Record<string, readonly number[]>>;
  /** Sizes of symbolic dimensions by name; models without such a dimension pass them over. */
  readonly dims?: Readonly<Record<string, number>>;
  /** Each model is linted at each of them, in one table. */
  readonly scenarios?: readonly ScenarioConfig[];
  /** Times, shares and regressions that fail a run. */
  readonly budgets?: readonly BudgetConfig[];
  /** Path of a calibration file, relative to this file. */
  readonly calibration?: string;
  /** Globs of model files that are not linted, relative to the configuration's folder. */
  readonly ignores?: readonly string[];
  readonly overrides?: readonly Override[];
}

/** Returns its argument: editors check and complete it. */
export function defineConfig(config: Config): Config {
  return config;
}
