/** @file `tc-lint init`: files that a team begins with; what is there stays. */

import { dirname, join, relative } from "node:path";
import type { Argv } from "yargs";
import { gpus } from "../../hardware/gpus.ts";
import { stackIds } from "../../hardware/stacks.ts";
import { pushAll } from "../../ir/lists.ts";
import { builtRepository } from "../../version.ts";
import type { InitFile } from "../init-files.ts";
import { settingOptions } from "../options.ts";

/** One target, which a configuration begins with; lint takes several. */
const targetOptions = {
  gpu: {
    ...settingOptions.gpu,
    describe: `One GPU to predict for: ${[...gpus.keys()].join(", ")} (default h200)`,
  },
  stack: {
    ...settingOptions.stack,
    describe: `Libraries to predict for, one of: ${stackIds.join(", ")} (default ort-cuda)`,
  },
} as const;

const flag = (describe: string) => ({ type: "boolean", describe }) as const;

export function addInit(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "init",
    "Write a configuration, a pre-commit hook and a GitHub workflow to begin with",
    (command) =>
      command
        .options(targetOptions)
        .option("hook", { ...flag("A hook for pre-commit; not with --no-hook"), default: true })
        .option("workflow", { ...flag("A GitHub workflow; not with --no-workflow"), default: true })
        .option("force", { ...flag("Replace what is there"), default: false }),
    async (argv) => {
      await init(argv);
      done(0);
    },
  );
}

interface InitFlags {
  readonly gpu?: string | undefined;
  readonly stack?: string | undefined;
  readonly hook: boolean;
  readonly workflow: boolean;
  readonly force: boolean;
}

/** Everything is looked at before anything is written. */
async function init({ gpu, stack, hook, workflow, force }: InitFlags): Promise<void> {
  const { settingsHere } = await import("../../api/make-plans.ts");
  const { configNames, projectAround } = await import("../../files/find-config.ts");
  const { makeFolder } = await import("../../files/make-folder.ts");
  const { look } = await import("../../files/look.ts");
  const { writeReportFile } = await import("../../files/report-file.ts");
  const { schemaFor } = await import("../config-schema.ts");
  const { initFiles } = await import("../init-files.ts");
  const { writeStdout } = await import("../stdout.ts");
  const here = process.cwd();
  const { root } = projectAround(here);
  const [resolved] = await settingsHere({
    config: { kind: "none" },
    settings: { gpu, stack },
    onNotice: () => {},
  });
  const target = { gpu: gpu ?? "h200", stack: stack ?? "ort-cuda", ...resolved?.settings };
  const own = { hook, workflow, schema: schemaFor(here), action: builtRepository };
  const choice = { gpu: target.gpu, stack: target.stack, ...own };
  const lines: string[] = [];
  for (const file of initFiles(choice, configNames)) {
    const folder = file.at === "here" ? here : root;
    const path = join(folder, file.path);
    const shown = relative(here, path).replaceAll("\\", "/");
    const other = file.others.find((name) => look(join(folder, name)) === "there");
    const isThere = look(path) !== "absent";
    if (other !== undefined) lines.push(`left: ${other} configures this folder already`);
    else if (isThere && !force) pushAll(lines, leftLines(shown, file));
    else {
      makeFolder(dirname(path));
      writeReportFile(path, file.text);
      lines.push(`${isThere ? "replaced" : "wrote"}: ${shown}`);
    }
  }
  lines.push("next: tc-lint .    and tc-lint . --suppress-all to be told only of what is new");
  await writeStdout(`${lines.join("\n")}\n`);
}

/** What would be written, where it has to go into what somebody else wrote. */
function leftLines(shown: string, { path, text }: InitFile): string[] {
  const left = `left: ${shown} is there (--force replaces it)`;
  if (path !== ".pre-commit-config.yaml") return [left];
  const [, ...entry] = text.trimEnd().split("\n");
  return [`${left}; the hook goes into its repos:`, ...entry];
}
