/** @file `tc-lint print-config [files…]`: what was decided for each model, for people who wonder why. */
import type { Argv } from "yargs";
import type { LintPlan } from "../../settings/lint-plan.ts";
import { scenarioName } from "../../settings/scenarios.ts";
import { type LintFlags, pathsOf, readConfigChoice, readSettings, settingOptions } from "../options.ts";

export function addPrintConfig(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "print-config [paths..]",
    "Show what flags and configuration files decide for models, as JSON",
    (command) =>
      command
        .positional("paths", {
          type: "string",
          array: true,
          describe: "Models, as for lint; without any, what holds for a model in the current folder",
        })
        .options(settingOptions)
        .option("format", {
          alias: "f",
          choices: ["json"] as const,
          default: "json" as const,
          describe: "How to write it",
        }),
    async (argv) => {
      await printConfig(pathsOf(argv), { ...readSettings(argv), config: readConfigChoice(argv) });
      done(0);
    },
  );
}

type ConfigFlags = Pick<LintFlags, "settings" | "scenarios" | "config"> &
  Partial<Pick<LintFlags, "forceExclude" | "allFiles" | "errorOnUnmatchedPattern">>;

/** One object for one model (or for none given), a list for several models or scenarios. */
export async function printConfig(patterns: readonly string[], flags: ConfigFlags): Promise<void> {
  const { makePlans, settingsHere } = await import("../../api/make-plans.ts");
  const { jsonText } = await import("../../report/json-text.ts");
  const { complain } = await import("../stderr.ts");
  const { writeStdout } = await import("../stdout.ts");
  const { forceExclude = false, allFiles = false, errorOnUnmatchedPattern = true } = flags;
  const request = {
    ...flags,
    table: false,
    verbose: false,
    forceExclude,
    allFiles,
    errorOnUnmatchedPattern,
    onNotice: complain,
  };
  const shown =
    patterns.length === 0
      ? (await settingsHere(request)).map(shownOf)
      : (await makePlans(patterns, request)).map(({ path, ...plan }) => ({ path, ...shownOf(plan) }));
  await writeStdout(jsonText(shown.length === 1 ? shown[0] : shown));
}

function shownOf({ scenario, settings }: Pick<LintPlan, "scenario" | "settings">): object {
  return scenario === undefined ? settings : { scenario: scenarioName(scenario), ...settings };
}
