/** @file `tc-lint explain [rule]` */
import type { Argv } from "yargs";
import type { ConfigChoice } from "../../api/make-plans.ts";
import { InputError } from "../../ir/errors.ts";
import type { RuleDoc } from "../../report/render.ts";
import { readConfigChoice } from "../options.ts";

export function addExplain(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "explain [rule]",
    "Say what a rule is about, why, and what its fix does; without a rule, list them",
    (command) =>
      command
        .positional("rule", {
          type: "string",
          describe: "A code (TC102), a name (misaligned-gemm), or the start of codes (TC1, acme/)",
        })
        .option("format", {
          alias: "f",
          choices: ["text", "json"] as const,
          default: "text" as const,
          describe: "How to write it",
        })
        .option("config", {
          type: "string",
          describe: "Configuration file whose plugins are asked; --no-config asks none",
        })
        .option("color", { type: "boolean", describe: "Colour or not" })
        .epilogue("Exit codes: 0 explained, 2 wrong usage, or no such rule."),
    async (argv) => {
      const { rule, format, color } = argv;
      const docs = await docsOf(rule, readConfigChoice(argv));
      const { renderRuleList, renderRulePage } = await import("../../report/rules-text.ts");
      const { writeStdout } = await import("../stdout.ts");
      const { reportColor } = await import("../terminal.ts");
      const listed = rule === undefined ? docs : startingWith(rule, docs);
      const doc = rule === undefined || listed.length > 0 ? undefined : await findDoc(rule, docs);
      if (format === "json") await writeStdout(`${JSON.stringify(doc ?? listed, undefined, 2)}\n`);
      else if (doc === undefined) await writeStdout(renderRuleList(listed));
      else await writeStdout(renderRulePage(doc, reportColor(color, true)));
      done(0);
    },
  );
}

/** Rules of plugins are asked for where one may be meant. */
async function docsOf(rule: string | undefined, config: ConfigChoice): Promise<readonly RuleDoc[]> {
  const { ruleDocs } = await import("../../../rules/docs.ts");
  if (rule !== undefined && !rule.includes("/")) return ruleDocs;
  const { rulesHere } = await import("../../api/make-plans.ts");
  const { customDocs } = await import("../../api/custom-docs.ts");
  const { complain } = await import("../stderr.ts");
  return [...ruleDocs, ...customDocs(await rulesHere({ config, onNotice: complain }))];
}

/** Those that `--select` would take by the start of their codes, which no code is itself; none where it is no such start. */
function startingWith(start: string, docs: readonly RuleDoc[]): readonly RuleDoc[] {
  const isStart = start.endsWith("/") || /^tc\d{0,2}$/i.test(start);
  const prefix = start.endsWith("/") ? start : start.toUpperCase();
  return isStart ? docs.filter(({ code }) => code.startsWith(prefix)) : [];
}

async function findDoc(rule: string, docs: readonly RuleDoc[]): Promise<RuleDoc> {
  const doc = docs.find(({ code, name }) => code === rule.toUpperCase() || name === rule.toLowerCase());
  if (doc !== undefined) return doc;
  const { suggestion } = await import("../../settings/closest.ts");
  const names = docs.flatMap(({ code, name }) => [code, name]);
  throw new InputError(
    "unknown-rule",
    `explain: "${rule}" is no rule${suggestion(rule, names)} (tc-lint explain lists them)`,
  );
}
