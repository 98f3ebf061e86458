/**
 * @file Commands as they are given beside flags. Half that a flag names is stored by every fix that it stands beside, so that a command which stores none, or
 * half where that pays, is given without it: where it then would be decided for another precision, it is the one that stores that half.
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
  const given = givenFor(plan, flags, isAsStored(report), report.predicted.half !== undefined);
  const said = commandsFor(report, given);
  return { ...outcome, report: given.isOfHalf ? withHalfSaid(said, plan.settings.precision) : said };
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
  /** Whether a flag names half, which a fix beside it stores. */
  readonly isOfHalf: boolean;
}

/** `isTold`: as the file is stored, the target's half being slower: what stores half does not make what is told. */
function givenFor(
  { settings: { precision }, unflagged }: LintPlan,
  flags: Flags,
  isStored: boolean,
  isTold = false,
): GivenFor {
  if (unflagged === undefined || !isHalf(precision) || isStored)
    return { given: (command) => withFlags(command, flags), isOfHalf: false };
  const others = flags.filter(([flag]) => flag !== "--precision");
  const isAlike = unflagged === precision || (isTold && isHalf(unflagged));
  const given = (command: string) => {
    if (namesPrecision(command)) return withFlags(command, flags);
    return isAlike ? withFlags(command, others) : withFlags(`${command} --precision ${precision}`, flags);
  };
  return { given, isOfHalf: true };
}

/** Half changes nothing about it: a fix stores none, whatever it stands beside. */
function isAsStored({ account, predicted }: ModelReport): boolean {
  return predicted.half === undefined && account.every(({ precision }) => precision === "as-is");
}

type CommandFor = (command: string) => string;

function commandsFor(report: ModelReport, { given, isOfHalf }: GivenFor): ModelReport {
  const { findings, groups, account, notices, unlisted, suppressions } = report;
  const ofFinding = <E extends Pick<FindingGroup, "fix" | "fixCommand">>(entry: E): E => {
    if (entry.fixCommand === null) return entry;
    const fixCommand = given(entry.fixCommand);
    return isOfHalf && namesPrecision(fixCommand)
      ? { ...entry, fix: "unsafe", fixCommand }
      : { ...entry, fixCommand };
  };
  const ofGroup = (group: FindingGroup): FindingGroup => {
    const entry = ofFinding(group);
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
  const { command, castsIn, first, ...rest } = step;
  return {
    ...rest,
    ...(command === undefined ? {} : { command: given(command) }),
    ...(castsIn === undefined ? {} : { castsIn: given(castsIn) }),
    ...(first === undefined ? {} : { first: { ...first, command: given(first.command) } }),
  };
}

/** Findings that `--fix` repairs are told of the file that keeps its types. */
function withHalfSaid(report: ModelReport, precision: string): ModelReport {
  if (!report.groups.some(({ fix }) => fix === "safe")) return report;
  const message = `--fix repairs it without --precision ${precision}, beside which it stores half as well`;
  return { ...report, notices: [...report.notices, { code: "fix-beside-precision", message }] };
}
