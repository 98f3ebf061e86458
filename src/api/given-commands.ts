/**
 * @file Commands as they are given beside flags. Half that a flag names is stored by every fix that it stands beside, so that a command which stores none, or
 * half where that pays, is given without it: where it then is decided for another precision, there is none.
 */
import type { FixChoice } from "../fix/choice.ts";
import type { FixOutcome } from "../fix/fix.ts";
import { isHalf, namesPrecision, withCommands, withFlags } from "../ir/fix-command.ts";
import type { AccountStep, FindingGroup, ModelReport } from "../lint/result.ts";
import { type Flags, flagsFor, type Given, percentOf } from "../settings/given-flags.ts";
import type { LintOutcome, LintPlan } from "../settings/lint-plan.ts";
import { standard } from "../settings/standard.ts";

const unsaid: Given = { settings: {}, config: { kind: "nearest" } };

/** Every command of a report as it is given for its plan alone: no fix is decided for several. */
export function asGiven(plan: LintPlan | undefined, outcome: LintOutcome): LintOutcome {
  if (plan === undefined) return outcome;
  const { report } = outcome;
  const ofRun = flagsOf(plan, outcome);
  // What is told is solved for by default, and `--fix` writes what reaches the user's threshold.
  const flags: Flags =
    plan.settings.minSaving > standard.minSaving
      ? [
          ...ofRun.filter(([flag]) => flag !== "--min-saving"),
          ["--min-saving", percentOf(standard.minSaving)],
        ]
      : ofRun;
  const { given, why } = givenFor(plan, flags, isAsStored(report));
  const said = commandsFor(report, given, why);
  return { ...outcome, report: why === undefined ? said : withHalfSaid(said, plan.settings.precision) };
}

/** What of the flags a model or its target has a use for. */
type Used = Pick<LintOutcome, "bound" | "isCalibrationIdle">;

/** Every command of a repair, decided as that was. Its account begins behind another batch. */
export function repairAsGiven(
  plan: LintPlan,
  { batch, ...used }: Used & { readonly batch: FixChoice["batch"] },
  outcome: FixOutcome,
): FixOutcome {
  const { account, notes } = outcome;
  const isAsIs = account.every(({ precision }) => precision === "as-is");
  const rebatched: Flags = batch === undefined ? [] : [["--batch", String(batch)]];
  const { given } = givenFor(plan, [...rebatched, ...flagsOf(plan, used)], isAsIs);
  return {
    ...outcome,
    account: account.map((step) => ofStep(step, given)),
    notes: notes.map((note) => ({ ...note, message: withCommands(note.message, given) })),
  };
}

function flagsOf({ given = unsaid, scenario }: LintPlan, { bound, isCalibrationIdle }: Used): Flags {
  const flags = flagsFor(given, scenario, (symbol) => bound.includes(symbol));
  return isCalibrationIdle === true ? flags.filter(([flag]) => flag !== "--calibration") : flags;
}

interface GivenFor {
  readonly given: CommandFor;
  /** Why a command is not given; absent where each is. */
  readonly why?: string;
}

function givenFor(
  { settings: { precision }, unflagged }: LintPlan,
  flags: Flags,
  isStored: boolean,
): GivenFor {
  if (unflagged === undefined || !isHalf(precision) || isStored)
    return { given: (command) => withFlags(command, flags) };
  const others = flags.filter(([flag]) => flag !== "--precision");
  const given = (command: string) => {
    if (namesPrecision(command)) return withFlags(command, flags);
    return unflagged === precision ? withFlags(command, others) : null;
  };
  const why = `beside --precision ${precision} it stores half as well, and without that it is decided in ${unflagged}`;
  return { given, why };
}

/** Half changes nothing about it: a fix stores none, whatever it stands beside. */
function isAsStored({ account, predicted }: ModelReport): boolean {
  return predicted.half === undefined && account.every(({ precision }) => precision === "as-is");
}

type CommandFor = (command: string) => string | null;

function commandsFor(report: ModelReport, given: CommandFor, why?: string): ModelReport {
  const { findings, groups, account, notices, unlisted, suppressions } = report;
  const ofFinding = <E extends Pick<FindingGroup, "fix" | "fixCommand">>(entry: E): E => {
    if (entry.fixCommand === null) return entry;
    const fixCommand = given(entry.fixCommand);
    return fixCommand === null ? { ...entry, fix: "none", fixCommand } : { ...entry, fixCommand };
  };
  const ofGroup = (group: FindingGroup): FindingGroup => {
    const entry = ofFinding(group);
    const isGone = group.fixCommand !== null && entry.fixCommand === null;
    if (isGone && why !== undefined) return { ...entry, left: why };
    return entry.left === null ? entry : { ...entry, left: withCommands(entry.left, given) };
  };
  return {
    ...report,
    findings: findings.map(ofFinding),
    groups: groups.map(ofGroup),
    account: account.map((step) => ofStep(step, given)),
    notices: notices.map((notice) => ({ ...notice, message: withCommands(notice.message, given) })),
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
