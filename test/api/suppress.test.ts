/** @file What a file of suppressions does to any run: laws that hold whatever is found where. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { SuppressContext } from "../../src/api/still-there.ts";
import { type SuppressAction, suppress } from "../../src/api/suppress.ts";
import type { Finding, ModelReport } from "../../src/lint/result.ts";
import type { LintOutcome } from "../../src/settings/lint-plan.ts";
import type { Suppressions } from "../../src/settings/suppressions.ts";
import { finding, modelReport } from "../report/sample.ts";

const findings = fc
  .uniqueArray(
    fc.record({
      code: fc.constantFrom("TC101", "TC102", "TC301"),
      severity: fc.constantFrom("error", "warn", "info"),
      fingerprint: fc.constantFrom(..."abcdefgh"),
    }),
    { selector: ({ fingerprint }) => fingerprint, maxLength: 6 },
  )
  .map((all) =>
    all.map(({ fingerprint, code, severity }) =>
      finding({ code, severity, fingerprint: code + fingerprint }),
    ),
  );

/** Models by path, each in a scenario or two. */
const runs = fc
  .uniqueArray(fc.tuple(fc.constantFrom("a", "b", "c", "d"), findings, fc.option(findings)), {
    selector: ([path]) => path,
    maxLength: 4,
  })
  .map((models) =>
    models.flatMap(([path, first, second]) =>
      second === null
        ? [outcomeOf({ path, findings: first })]
        : [
            outcomeOf({ path, scenario: "l4", findings: first }),
            outcomeOf({ path, scenario: "h200", findings: second }),
          ],
    ),
  );

function outcomeOf(parts: Partial<ModelReport>): LintOutcome {
  return { report: modelReport(parts), bound: [], weights: [] };
}

const context: SuppressContext = {
  file: "file.json",
  keyOf: (path) => path,
  isThere: () => true,
  isOn: () => true,
  isSelection: false,
  minSavingOf: () => 0.005,
  isListed: true,
};
const all: SuppressAction = { kind: "suppress" };
const none: Suppressions = new Map();
const shown = (outcomes: readonly LintOutcome[]) =>
  outcomes.flatMap(({ report }) => report.findings.filter(({ severity }) => severity !== "info"));

test("what is suppressed is shown by nobody, and stale for nobody; findings for information stay", () => {
  fc.assert(
    fc.property(runs, (run) => {
      const { next, outcomes, stale } = suppress(run, none, all, context);
      expect([shown(outcomes), stale]).toEqual([[], []]);
      const again = suppress(run, next, undefined, context);
      expect([shown(again.outcomes), again.stale, again.next]).toEqual([[], [], next]);
      for (const [index, { report }] of again.outcomes.entries()) {
        const before = run[index]?.report;
        expect(report.findings.length + report.suppressed).toBe(before?.findings.length);
        expect(report.suppressions?.length ?? 0).toBe(report.suppressed);
        const known = new Set(report.findings.map(({ fingerprint }) => fingerprint));
        expect(report.groups.every((group) => group.findings.every((each) => known.has(each)))).toBe(true);
      }
      expect(suppress(run, next, all, context).next).toEqual(next);
    }),
  );
});

test("of each rule of a model all is shown, or nothing; nothing but what a count covers is hidden", () => {
  fc.assert(
    fc.property(runs, runs, (before, after) => {
      const { next } = suppress(before, none, all, context);
      const { outcomes } = suppress(after, next, undefined, context);
      for (const [index, { report }] of outcomes.entries()) {
        const hidden = new Set(report.suppressions?.map(({ code }) => code));
        const open = shown([{ report, bound: [], weights: [] }]).map(({ code }) => code);
        expect(open.filter((code) => hidden.has(code))).toEqual([]);
        const distinct = after
          .filter((each) => each.report.path === report.path)
          .flatMap((each) => each.report.findings.filter(({ severity }) => severity !== "info"));
        for (const code of hidden) {
          const places = new Set(
            distinct.filter((each) => each.code === code).map((each) => each.fingerprint),
          );
          expect(places.size).toBeLessThanOrEqual(next.get(report.path)?.rules.get(code) ?? 0);
        }
        expect(report.path).toBe(after[index]?.report.path);
      }
    }),
  );
});

test("pruned once, nothing is stale, nothing more is shown, and pruning again changes nothing", () => {
  fc.assert(
    fc.property(runs, runs, (before, after) => {
      const { next } = suppress(before, none, all, context);
      const unpruned = suppress(after, next, undefined, context);
      const pruned = suppress(after, next, { kind: "prune" }, context);
      expect(pruned.stale).toEqual([]);
      expect(shown(pruned.outcomes)).toEqual(shown(unpruned.outcomes));
      const again = suppress(after, pruned.next, { kind: "prune" }, context);
      expect(again.next).toEqual(pruned.next);
    }),
  );
});

test("models that all moved, and changed nothing, are suppressed as before", () => {
  const law = fc.property(runs, (run) => {
    const { next } = suppress(run, none, all, context);
    const elsewhere = { ...context, keyOf: (path: string) => `moved/${path}`, isThere: () => false };
    const moved = suppress(run, next, undefined, elsewhere);
    expect([shown(moved.outcomes), moved.stale, moved.gone]).toEqual([[], [], []]);
    const pruned = suppress(run, next, { kind: "prune" }, elsewhere).next;
    expect([...pruned.keys()].sort()).toEqual([...next.keys()].map((key) => `moved/${key}`).sort());
  });
  fc.assert(law);
  // Three models of which two share what one of them has alone.
  fc.assert(law, { seed: -1918799965, path: "44:5:3:4:4:8:12:11:16:16:15", endOnFailure: true });
  // One has all that another is known by, and no finding of a third's other rule.
  const third = "1027:4:2:4:4:4:6:4:6:6:9:13:12:13:13:13:16:14:14";
  fc.assert(law, { seed: 472288732, path: third, endOnFailure: true });
});

/** The same run, with `hidden` of its findings counted by rule and not listed. */
function hiding(run: readonly LintOutcome[], hidden: (finding: Finding) => boolean): LintOutcome[] {
  return run.map((outcome) => {
    const { report } = outcome;
    const byRule: Record<string, number> = {};
    for (const { code } of report.findings.filter(hidden)) byRule[code] = (byRule[code] ?? 0) + 1;
    const below = { ...report.belowThreshold, byRule };
    const findings = report.findings.filter((each) => !hidden(each));
    return { ...outcome, report: { ...report, findings, belowThreshold: below } };
  });
}

const hidingRuns: readonly Partial<SuppressContext>[] = [
  { minSavingOf: () => 0.2 },
  { isSelection: true },
  { isOn: (_, code) => code !== "TC301" },
];

/** What a run that hides says, where `isOut`; its rule TC301 may be off. */
function narrowed(
  run: readonly LintOutcome[],
  { isOn }: SuppressContext,
  isOut: (fingerprint: string) => boolean,
): LintOutcome[] {
  return hiding(run, ({ code, fingerprint }) => isOn("", code) && isOut(fingerprint)).map((each) => ({
    ...each,
    report: { ...each.report, findings: each.report.findings.filter(({ code }) => isOn("", code)) },
  }));
}

test("a model that is moved is lost by no run that hides what it is known by, or lacks a target", () => {
  const others = [...hidingRuns, "target" as const];
  fc.assert(
    fc.property(runs, fc.constantFrom(...others), fc.func(fc.boolean()), (run, other, isOut) => {
      const { next } = suppress(run, none, all, context);
      const elsewhere = { ...context, keyOf: (path: string) => `moved/${path}`, isThere: () => false };
      const narrow = { ...elsewhere, ...(other === "target" ? {} : other) };
      const isAffected = ({ report }: LintOutcome) =>
        narrow.isOn("", "TC301") || next.get(report.path)?.rules.has("TC301") === true;
      const listed = run.flatMap((each) => {
        const { report } = each;
        const target = { ...report.target, gpu: "a100" };
        if (other === "target") return [{ ...each, report: { ...report, target, findings: [] } }];
        return isAffected(each) ? narrowed([each], narrow, isOut) : [each];
      });
      const { next: pruned, gone } = suppress(listed, next, { kind: "prune" }, narrow);
      expect(gone).toEqual([]);
      const later = suppress(run, pruned, undefined, elsewhere);
      expect([shown(later.outcomes), later.stale, later.gone]).toEqual([[], [], []]);
    }),
  );
});

test("what a run hides and its baseline did not is not called stale, and is taken out by nothing", () => {
  fc.assert(
    fc.property(runs, fc.constantFrom(...hidingRuns), fc.func(fc.boolean()), (run, other, isOut) => {
      const { next } = suppress(run, none, all, context);
      const narrow = { ...context, ...other };
      // Where a rule is off, only what depends on its claims is hidden.
      const isOff = narrow.isOn("", "TC301") ? () => false : ({ code }: Finding) => code === "TC301";
      const isAffected = (path: string) =>
        narrow.isOn("", "TC301") || next.get(path)?.rules.has("TC301") === true;
      const hidden = run.flatMap((each) =>
        hiding([each], (one) => !isOff(one) && isAffected(each.report.path) && isOut(one.fingerprint)),
      );
      const listed = hidden.map((each) => ({
        ...each,
        report: { ...each.report, findings: each.report.findings.filter((one) => !isOff(one)) },
      }));
      const { stale, outcomes } = suppress(listed, next, undefined, narrow);
      expect([shown(outcomes), stale]).toEqual([[], []]);
      for (const action of [{ kind: "prune" } as const, all]) {
        const after = suppress(listed, next, action, narrow).next;
        const later = suppress(run, after, undefined, context);
        expect([shown(later.outcomes), later.stale]).toEqual([[], []]);
      }
    }),
  );
});

test("counts of one target are lost, and called stale, by nothing that is written at another", () => {
  const elsewhere = (run: readonly LintOutcome[]) =>
    run.map((each) => ({
      ...each,
      report: { ...each.report, target: { ...each.report.target, gpu: "a100" } },
    }));
  const rule: SuppressAction = { kind: "suppress", codes: new Set(["TC101"]) };
  fc.assert(
    fc.property(runs, runs, fc.constantFrom(all, rule), (here, other, action) => {
      const there = elsewhere(other);
      const { next } = suppress(here, none, all, context);
      const both = suppress(there, next, action, context);
      const isNamed = (code: string) => action.kind !== "suppress" || action.codes?.has(code) !== false;
      const left = shown(both.outcomes).filter(({ code }) => isNamed(code));
      expect([left, both.stale]).toEqual([[], []]);
      const pruned = suppress(there, both.next, { kind: "prune" }, context).next;
      for (const file of [both.next, pruned]) {
        const back = suppress(here, file, undefined, context);
        expect([shown(back.outcomes), back.stale]).toEqual([[], []]);
      }
      const again = suppress([...here, ...there], both.next, action, context);
      expect(again.stale).toEqual([]);
    }),
  );
});

test("what was hidden when it was counted, too, keeps nothing in the file", () => {
  const small = (code: string) => code === "TC101b";
  const [a, b] = ["a", "b"].map((name) => finding({ code: "TC101", fingerprint: `TC101${name}` }));
  const run = (...findings: Finding[]) =>
    hiding([outcomeOf({ path: "m", findings })], ({ fingerprint }) => small(fingerprint));
  if (a === undefined || b === undefined) throw new Error("two findings");
  const { next } = suppress(run(a, b), none, all, context);
  const repaired = suppress(run(b), next, undefined, context);
  expect(repaired.stale).toEqual([{ path: "m", code: "TC101", suppressed: 1, found: 0 }]);
  expect(suppress(run(b), next, { kind: "prune" }, context).next).toEqual(new Map());
});

test("another model that has no findings but of the whole model is not the one that is gone", () => {
  const whole = finding({ code: "TC201", fingerprint: "TC201" });
  const at = finding({ code: "TC101", fingerprint: "TC101a" });
  const run = (parameters: number, ...findings: Finding[]) => [
    outcomeOf({ path: "m", parameters, findings }),
  ];
  const elsewhere = { ...context, keyOf: () => "other", isThere: () => false };
  const movedOf = (before: LintOutcome[], after: LintOutcome[]) =>
    suppress(after, suppress(before, none, all, context).next, undefined, elsewhere).moved;
  const moved = [{ from: "m", to: "other" }];
  expect(movedOf(run(10, whole), run(10, whole))).toEqual(moved);
  expect(movedOf(run(10, whole), run(11, whole))).toEqual([]);
  // Nodes tell, whatever an export makes of constants.
  expect(movedOf(run(10, whole, at), run(11, whole, at))).toEqual(moved);
});

test("a model is known after it was pruned by a run that hides, and then by one that does not", () => {
  const [a, b, c] = ["a", "b", "c"].map((name) => finding({ code: "TC101", fingerprint: `TC101${name}` }));
  const other = finding({ code: "TC301", fingerprint: "TC301a" });
  if (a === undefined || b === undefined || c === undefined) throw new Error("three findings");
  const run = (...findings: Finding[]) => [outcomeOf({ path: "m", findings })];
  const { next } = suppress(run(a, b, c, other), none, all, context);
  const narrow = hiding(run(a, b), ({ fingerprint }) => fingerprint === "TC101b");
  for (const hides of [{ minSavingOf: () => 0.2 }, { isSelection: true }]) {
    const pruned = suppress(narrow, next, { kind: "prune" }, { ...context, ...hides }).next;
    expect(pruned.get("m")).toEqual({ ...next.get("m"), rules: new Map([["TC101", 2]]) });
    for (const digest of [next.get("m")?.digest ?? "", ""]) {
      const before = new Map([...pruned].map(([key, entry]) => [key, { ...entry, digest }]));
      const repaired = suppress(run(a, b), before, { kind: "prune" }, context).next;
      const elsewhere = { ...context, keyOf: () => "moved", isThere: () => false };
      expect(suppress(run(a, b), repaired, undefined, elsewhere).moved).toEqual([{ from: "m", to: "moved" }]);
    }
  }
});
