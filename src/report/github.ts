/** @file GitHub annotations: workflow commands, as many as a step shows, the worst first. */
import { counted, duration, plain, printable } from "../ir/format.ts";
import { groupBy } from "../ir/group.ts";
import { byImportance } from "../ir/importance.ts";
import type { Finding, LintReport, ModelReport, Severity } from "../lint/result.ts";
import { budgetCode, budgetName, budgetText, exceededOf } from "./budget-text.ts";
import { commandsOf, type Place, placeOf } from "./finding-text.ts";
import type { RenderOptions } from "./render.ts";
import { ruleTitle } from "./rule-title.ts";
import { acrossScenarios } from "./scenarios.ts";
import { savedText, savedTogether } from "./share.ts";

type Level = "error" | "warning" | "notice";

/** GitHub shows this many of each level for a step; one notice says how many are left. */
const shownAtMost = { error: 10, warning: 10, notice: 9 } as const satisfies Record<Level, number>;

/** What notices about a profile begin with (api/profile.ts). */
const profileCodes = "profile-";

const levels = { error: "error", warn: "warning", info: "notice" } as const satisfies Record<Severity, Level>;

interface Annotation extends Place {
  readonly level: Level;
  readonly title: string;
  readonly message: string;
}

export function renderGithub(whole: LintReport, options: RenderOptions): string {
  const report = { ...whole, models: acrossScenarios(whole.models) };
  const annotations = [
    ...failures(report, options),
    ...budgets(report, options),
    ...groups(report, options),
    ...measures(report, options),
  ];
  const lines: string[] = [];
  const count = { error: 0, warning: 0, notice: 0 };
  for (const annotation of annotations) {
    count[annotation.level] += 1;
    if (count[annotation.level] <= shownAtMost[annotation.level]) lines.push(commandOf(annotation));
  }
  const left = annotations.length - lines.length;
  if (left > 0)
    lines.push(`::notice title=tc-lint::${escapeData(`${left} more; the log and -f json have all of them`)}`);
  return lines.map((line) => `${line}\n`).join("");
}

function failures({ models }: LintReport, { repositoryPath }: RenderOptions): Annotation[] {
  return models.flatMap(({ path, error }) =>
    error === null
      ? []
      : [
          {
            level: "error" as const,
            file: repositoryPath(path),
            line: 1,
            title: `tc-lint ${error.code}`,
            message: printable(error.message),
          },
        ],
  );
}

function budgets({ models }: LintReport, { repositoryPath }: RenderOptions): Annotation[] {
  return models.flatMap((model) =>
    exceededOf(model).map((report) => ({
      level: "error" as const,
      file: repositoryPath(model.path),
      line: 1,
      title: `tc-lint ${ruleTitle(budgetCode, budgetName(report))}`,
      message: budgetText(report),
    })),
  );
}

/** What a reader of measured times has to know of them; what is odd about a file is not said at each of its commits. */
function measures({ models }: LintReport, { repositoryPath }: RenderOptions): Annotation[] {
  return models.flatMap(({ path, notices }) =>
    notices
      .filter(({ code }) => code.startsWith(profileCodes))
      .map(({ code, message }) => ({
        level: "notice" as const,
        file: repositoryPath(path),
        line: 1,
        title: `tc-lint ${code}`,
        message: printable(message),
      })),
  );
}

/** Of a model, at the place of one annotation. */
interface Found {
  readonly model: ModelReport;
  readonly finding: Finding;
}

/** One annotation a file and rule: a hundred layers with one flaw are one thing to read. */
function groups({ models }: LintReport, options: RenderOptions): Annotation[] {
  const byPlace = new Map<string, { place: Place; found: Found[] }>();
  const all = models.flatMap((model) => model.findings.map((finding) => ({ model, finding })));
  all.sort((a, b) => byImportance(a.finding, b.finding));
  for (const found of all) {
    const place = placeOf(found.finding, found.model.path, options);
    const key = [place.file, found.finding.code].join("\u0000");
    const group = byPlace.get(key);
    if (group === undefined) byPlace.set(key, { place, found: [found] });
    else group.found.push(found);
  }
  return [...byPlace.values()].flatMap(({ place, found }) => {
    const [worst] = found;
    return worst === undefined ? [] : [annotationOf(worst.finding, found, place)];
  });
}

/** The worst says what it is about; what is saved is of all. */
function annotationOf(worst: Finding, found: readonly Found[], place: Place): Annotation {
  const { code, rule, severity, node, op, message } = worst;
  const saved = savedOf(found);
  const others = found.length - 1;
  const more = others === 0 ? "" : `\nand ${counted(others, "more finding")} of this rule here`;
  const commands = commandsOf(found.map(({ finding }) => finding));
  const saving = saved === "" ? "" : others === 0 ? `; saves ${saved}` : `; together they save ${saved}`;
  return {
    level: levels[severity],
    ...place,
    title: ruleTitle(code, rule),
    message: `${printable(`${node} (${op}): ${message}`)}${more}${saving}${commands === "" ? "" : `; fix: ${commands}`}`,
  };
}

/** Shares are of a model's own time. */
function savedOf(found: readonly Found[]): string {
  const models = [...groupBy(found, ({ model }) => model)];
  const saved = models.flatMap(([model, own]) => {
    const findings = own.map(({ finding }) => finding);
    return savedTogether(findings, model.groups) ?? [];
  });
  const [only, ...others] = saved;
  if (only === undefined) return "";
  if (models.length === 1) return savedText(only);
  return duration(others.reduce((sum, { microseconds }) => sum + microseconds, only.microseconds));
}

function commandOf({ level, file, line, title, message }: Annotation): string {
  const properties = [`file=${escapeProperty(file)}`, `line=${line}`, `title=${escapeProperty(title)}`];
  return `::${level} ${properties.join(",")}::${escapeData(message)}`;
}

function escapeData(text: string): string {
  return text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

/** Line ends have an escape of their own here; nothing else of the kind is let through. */
function escapeProperty(text: string): string {
  const parts = text.split(/([\r\n])/).map((part) => (/[\r\n]/.test(part) ? part : plain(part)));
  return escapeData(parts.join("")).replaceAll(":", "%3A").replaceAll(",", "%2C");
}
