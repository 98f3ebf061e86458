/** @file `tc-lint print-config [files…]` */
import type { Argv } from "yargs";
import { pathsOf, readConfigChoice, readSettings, settingOptions } from "../options.ts";

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
      const { showConfig } = await import("../show-config.ts");
      const flags = { settings: readSettings(argv), config: readConfigChoice(argv) };
      done(await showConfig(pathsOf(argv), flags));
    },
  );
}
