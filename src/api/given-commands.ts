/**
 * @file Commands as they are given beside flags. Half that a flag names is stored by every fix that it stands beside, so that a command which stores none, or
 * half where that pays, is given without it: where it then is decided for another precision, there is none.
 */
import { isHalf, namesPrecision, withFlags } from "../ir/fix-command.ts";
import type { AccountStep, FindingGroup, ModelReport } from "../lint/result.ts";
import { type Flags, flagsFor, type Given } from "../settings/given-flags.ts";
import type { LintOutcome, LintPlan } from "../settings/lint-plan.ts";
import { standard } from "../settings/standard.ts";

/** What is told is solved for by default; `--fix` writes what reaches the user's threshold. */
const solvedFor = `${100 * standard.minSaving}%`;

const unsaid: Given = { settings: {}, config: { kind: "nearest" } };

/** Every command of a report as it is given for its plan alone: no fix is decided for several. */
export function asGiven(plan: LintPlan | undefined, outcome: LintOutcome): LintOutcome {
  if (plan === undefined) return outcome;
  const { report, bound } = outcome;
  const { scenario, settings, unflagged, given: said = unsaid } = plan;
  const ofRun = flagsFor(said, scenario, (symbol) => bound.includes(symbol));
  const { precision, minSaving } = settings;
  const flags: Flags = minSaving > standard.minSaving ? [...ofRun, ["--min-saving", solvedFor]] : ofRun;
  if (unflagged === undefined || !isHalf(precision) || isAsStored(report))
    return flags.length === 0
      ? outcome
      : { ...outcome, report: commandsFor(report, (each) => withFlags(each, flags)) };
  const others = flags.filter(([flag]) => flag !== "--precision");
  const given = (command: string) => {
    if (namesPrecision(command)) return withFlags(command, flags);
    return unflagged === precision ? withFlags(command, others) : null;
  };
  const why = `beside --precision ${precision} it stores half as well, and without that it is decided in ${unflagged}`;
  return { ...outcome, report: withHalfSaid(commandsFor(report, given, why), precision) };
}

/** Half changes nothing about it: a fix stores none, whatever it stands beside. */
function isAsStored({ account, predicted }: ModelReport): boolean {
  return predicted.half === undefined && account.every(({ precision }) => precision === "as-is");
}

type CommandFor = (command: string) => string | null;

function commandsFor(report: ModelReport, given: CommandFor, why?: string): ModelReport {
  const { findings, groups, account, unlisted, suppressions } = report;
  const ofFinding = <E extends Pick<FindingGroup, "fix" | "fixCommand">>(entry: E): E => {
    if (entry.fixCommand === null) return entry;
    const fixCommand = given(entry.fixCommand);
    return fixCommand === null ? { ...entry, fix: "none", fixCommand } : { ...entry, fixCommand };
  };
  const ofGroup = (group: FindingGroup): FindingGroup => {
    const entry = ofFinding(group);
    const isGone = group.fixCommand !== null && entry.fixCommand === null;
    return isGone && why !== undefined ? { ...entry, left: why } : entry;
  };
  return {
    ...report,
    findings: findings.map(ofFinding),
    groups: groups.map(ofGroup),
    account: account.map((step) => ofStep(step, given)),
    ...(suppressions === undefined ? {} : { suppressions: suppressions.map(ofFinding) }),
    ...(unlisted === undefined
      ? {}
      : {
          unlisted: {
            ...unlisted,
            findings: unlisted.findings.map(ofFinding),
            groups: unlisted.groups.map(ofGroup),
          },
        }),
  };
}

function ofStep(step: AccountStep, given: CommandFor): AccountStep {
  const { command: own, castsIn: casts, first: before, ...rest } = step;
  const [command, castsIn] = [own, casts].map((each) => (each === undefined ? null : given(each)));
  const first = before === undefined ? null : given(before.command);
  return {
    ...rest,
    ...(command == null ? {} : { command }),
    ...(castsIn == null ? {} : { castsIn }),
    ...(before === undefined || first === null ? {} : { first: { ...before, command: first } }),
  };
}

/** Findings that `--fix` repairs are told of the file that keeps its types. */
function withHalfSaid(report: ModelReport, precision: string): ModelReport {
  const isSafe = ({ fix, fixCommand }: FindingGroup) =>
    fix === "safe" && fixCommand !== null && !namesPrecision(fixCommand);
  if (!report.groups.some(isSafe)) return report;
  const message = `--fix repairs it without --precision ${precision}, beside which it stores half as well`;
  return { ...report, notices: [...report.notices, { code: "fix-beside-precision", message }] };
}
