/** @file `tc-lint explain-match <rule> <node> <model>` */
import type { Argv } from "yargs";
import { InputError } from "../../ir/errors.ts";
import { readConfigChoice, readLintFlags, readSettings, settingOptions } from "../options.ts";

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
        .option("color", { type: "boolean", describe: "Colour or not" }),
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
      const found = await explainMatch(plan, { rule, node }, {});
      await writeStdout(format === "json" ? jsonText(found) : renderMatch(found, reportColor(color, true)));
      done(found.fits ? exitCodes.clean : exitCodes.findings);
    },
  );
}
