/** Formats that tell findings of one rule together say what they save together: what the report's entries do. */
import { describe, expect, it } from "vitest";
import { lint } from "../../src/index.ts";
import type { ModelReport } from "../../src/lint/result.ts";
import { renderGithub } from "../../src/report/github.ts";
import { renderJunit } from "../../src/report/junit.ts";
import { savedText, savedTogether } from "../../src/report/share.ts";
import { reportOf } from "../../src/report/summary.ts";
import { zooModel } from "../zoo.ts";
import { finding, modelReport, options } from "./sample.ts";

const three = ["a", "b", "c"].map((node) =>
  finding({ node, fingerprint: node, saves: { microseconds: 10, low: 5, high: 15, share: 0.1, of: 100 } }),
);
const saves = { microseconds: 12, low: 6, high: 18, share: 0.12, of: 100 };
const [sample] = modelReport({ findings: three.slice(0, 1) }).groups;
if (sample === undefined) throw new Error("a finding is of a group");
const group = { ...sample, saves, findings: ["a", "b", "c"] };
const model = modelReport({ findings: three, groups: [group] });
const report = (...models: ModelReport[]) => reportOf(models, "1");

describe.each([
  ["GitHub annotations", renderGithub],
  ["JUnit", renderJunit],
])("%s", (_, render) => {
  it("have the entry's figure, not its first finding's", () => {
    const text = render(report(model), options);
    expect(text).toMatch(/2 more findings.*; together they save 12 µs \(12 %(25)?\)/);
    const [message] = text.match(/::error[^\n]*|message="[^"]*/) ?? [];
    expect(message).not.toContain("10 µs");
  });

  it("have the entry's figure of a single finding too, as the terminal has", () => {
    const one = { ...model, findings: three.slice(0, 1), groups: [{ ...group, findings: ["a"] }] };
    expect(render(report(one), options)).toMatch(/saves 12 µs/i);
  });

  it("have that of the scenario that they are worst in", () => {
    const worse = three.map((each) => ({ ...each, saves: { ...saves, microseconds: 40, share: 0.4 } }));
    const slow = {
      ...model,
      findings: worse,
      groups: [{ ...group, saves: { ...saves, microseconds: 50, share: 0.5 } }],
    };
    const both = report({ ...model, scenario: "h200" }, { ...slow, scenario: "l4" });
    expect(render(both, options)).toMatch(/together they save 50 µs \(50 %(25)?\)/);
  });

  it("have what entries of a rule add up to, of a real model", async () => {
    const linted = await lint(zooModel("vit_tiny"), { dims: { batch: 1 } });
    const text = render(report(linted), options);
    for (const code of new Set(linted.groups.map((each) => each.code))) {
      const own = linted.groups.filter((each) => each.code === code && each.saves !== null);
      const microseconds = own.reduce((sum, each) => sum + (each.saves?.microseconds ?? 0), 0);
      const share = own.reduce((sum, each) => sum + (each.saves?.share ?? 0), 0);
      if (own.length > 0) expect(text.replaceAll("%25", "%")).toContain(savedText({ microseconds, share }));
    }
  });
});

it("a part of an entry saves what it does alone, and no more than the entry", () => {
  expect(savedTogether(three.slice(0, 1), [group])).toEqual({ microseconds: 10, share: 0.1 });
  expect(savedTogether(three.slice(0, 2), [group])).toMatchObject({ microseconds: 12 });
  expect(savedTogether(three, [{ ...group, saves: null }])).toBeNull();
});
