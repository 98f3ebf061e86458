/** @file `tc-lint explain [rule]` */
import type { Argv } from "yargs";
import { InputError } from "../../ir/errors.ts";
import type { RuleDoc } from "../../report/render.ts";

export function addExplain(parser: Argv, done: (exitCode: number) => void): Argv {
  return parser.command(
    "explain [rule]",
    "Say what a rule is about, why, and what its fix does; without a rule, list them",
    (command) =>
      command
        .positional("rule", { type: "string", describe: "A code (TC102) or a name (misaligned-gemm)" })
        .option("format", {
          alias: "f",
          choices: ["text", "json"] as const,
          default: "text" as const,
          describe: "How to write it",
        })
        .option("color", { type: "boolean", describe: "Colour or not" }),
    async ({ rule, format, color }) => {
      const { ruleDocs } = await import("../../../rules/docs.ts");
      const { renderRuleList, renderRulePage } = await import("../../report/rules-text.ts");
      const { writeStdout } = await import("../stdout.ts");
      const { reportColor } = await import("../terminal.ts");
      const doc = rule === undefined ? undefined : await findDoc(rule, ruleDocs);
      if (format === "json") await writeStdout(`${JSON.stringify(doc ?? ruleDocs, undefined, 2)}\n`);
      else if (doc === undefined) await writeStdout(renderRuleList(ruleDocs));
      else await writeStdout(renderRulePage(doc, reportColor(color, true)));
      done(0);
    },
  );
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
