/** @file `tc-lint explain-match <rule> <node> <model>` */
import { resolve } from "node:path";
import type { Argv } from "yargs";
import { ConfigFinder } from "../../files/find-config.ts";
import { InputError } from "../../ir/errors.ts";
import { toDisplayPath } from "../../settings/paths.ts";
import { readConfigChoice, readLintFlags, readSettings, settingOptions } from "../options.ts";

/** Whoever asks stands beside a configuration with the rule, and the model may be no part of that project. */
function sayUnused(used: readonly string[], model: string, say: (message: string) => void): void {
  const here = new ConfigFinder(process.cwd(), () => {}).nearest("model.onnx")?.file;
  if (here === undefined || used.some((file) => resolve(file) === here)) return;
  const shown = toDisplayPath(here);
  say(
    `${shown}: not used: it holds for models below its folder, and ${model} has another or none; --config ${shown} uses it`,
  );
}

export function addExplainMatch(parser: Argv, done: (exitCode: number) => void): Argv {
  const { config, dim, shape, calibration } = settingOptions;
  return parser.command(
    "explain-match <rule> <node> <model>",
    "Say why a rule of a plugin matches a node of a model, or what came nearest and why it does not",
    (command) =>
      command
        .positional("rule", { type: "string", demandOption: true, describe: "Its code: acme/no-big-softmax" })
        .positional("node", {
          type: "string",
          demandOption: true,
          describe: "The node's name, as reports have it",
        })
        .positional("model", { type: "string", demandOption: true, describe: "The model" })
        .options({ config, dim, shape, calibration })
        .option("format", {
          alias: "f",
          choices: ["text", "json"] as const,
          default: "text" as const,
          describe: "How to write it",
        })
        .option("color", { type: "boolean", describe: "Colour or not" })
        .epilogue(
          "Exit codes: 0 it matches, 1 it does not, 2 wrong usage, no such rule or node, or a model that cannot be read.",
        ),
    async (argv) => {
      const { rule, node, model, format, color } = argv;
      const { makePlans } = await import("../../api/make-plans.ts");
      const { explainMatch } = await import("../../api/explain-match.ts");
      const { renderMatch } = await import("../../report/match-text.ts");
      const { jsonText } = await import("../../report/json-text.ts");
      const { exitCodes } = await import("../exit.ts");
      const { complain } = await import("../stderr.ts");
      const { writeStdout } = await import("../stdout.ts");
      const { reportColor } = await import("../terminal.ts");
      const flags = { ...readLintFlags({}), ...readSettings(argv), config: readConfigChoice(argv) };
      const [plan, another] = await makePlans([model], { ...flags, onNotice: complain });
      if (plan === undefined || (another !== undefined && another.path !== plan.path))
        throw new InputError("usage", `explain-match: expected one model, found "${model}"`);
      if (flags.config.kind === "nearest") sayUnused(plan.settings.configFiles, model, complain);
      const found = await explainMatch(plan, { rule, node }, {});
      await writeStdout(format === "json" ? jsonText(found) : renderMatch(found, reportColor(color, true)));
      done(found.fits ? exitCodes.clean : exitCodes.findings);
    },
  );
}
