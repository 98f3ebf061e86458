/** @file What a repair changes as SARIF 2.1.0: what is done or would be is information, not a failure. */
import { counted, duration } from "../ir/format.ts";
import { type FixReportView, type FixView, headlineOf } from "./fix-view.ts";
import { jsonText } from "./json-text.ts";
import type { RenderOptions } from "./render.ts";
import { driverOf, logOf, mostResults, quoted, uriOf } from "./sarif-parts.ts";

const rules = [
  ["fix-node", "A node that --fix adds, removes or changes"],
  ["fix-tensor", "A stored tensor that --fix adds, removes or changes"],
  ["fix-model", "What --fix makes of the model's predicted time"],
] as const;

export function renderFixSarif({ tool, fixes }: FixReportView, options: RenderOptions): string {
  const all = fixes.flatMap((fix) => resultsOf(fix, options));
  const left = all.length - mostResults;
  const failures = fixes.flatMap(({ path, error }) =>
    error === null ? [] : [notification("error", error.message, error.code, [locationOf(path, options)])],
  );
  const truncated =
    left > 0 ? [notification("warning", `${counted(left, "change")} left out`, "truncated", [])] : [];
  return jsonText(
    logOf({
      tool: {
        driver: driverOf(
          tool.version,
          rules.map(([id, text]) => ({ id, shortDescription: { text } })),
          options,
        ),
      },
      automationDetails: { id: "tc-lint/fix/" },
      columnKind: "utf16CodeUnits",
      invocations: [
        {
          executionSuccessful: failures.length === 0,
          toolExecutionNotifications: [...failures, ...truncated],
        },
      ],
      artifacts: fixes.map(({ path }) => ({
        location: { uri: uriOf(path, options) },
        roles: ["analysisTarget"],
      })),
      results: all.slice(0, mostResults),
    }),
  );
}

function notification(level: "error" | "warning", text: string, id: string, locations: readonly object[]) {
  return { level, descriptor: { id }, message: { text: quoted(text) }, locations };
}

function resultsOf(fix: FixView, options: RenderOptions): object[] {
  const { path, changed, diff } = fix;
  if (diff === null || !changed) return [];
  const nodes = diff.nodes.map(({ name, op, kind, details }) => {
    const what = details.length > 0 ? `: ${details.join("; ")}` : "";
    return resultOf("fix-node", `${kind} ${name} (${op})${what}`, locationOf(path, options, { name, op }));
  });
  const tensors = diff.tensors.map(({ name, before, after }) => {
    const text = `${name} ${before ?? "none"} → ${after ?? "none"}`;
    return resultOf("fix-tensor", text, locationOf(path, options, { name }));
  });
  const headline = headlineOf(fix);
  const time =
    headline === undefined
      ? []
      : [
          resultOf(
            "fix-model",
            `predicted ${duration(headline.before)} → ${duration(headline.after)}${headline.stored}`,
            locationOf(path, options),
          ),
        ];
  return [...time, ...nodes, ...tensors];
}

function resultOf(ruleId: (typeof rules)[number][0], text: string, location: object) {
  const ruleIndex = rules.findIndex(([id]) => id === ruleId);
  // Of anything but a failure SARIF wants no level.
  return {
    ruleId,
    ruleIndex,
    kind: "informational",
    level: "none",
    message: { text: quoted(text) },
    locations: [location],
  };
}

function locationOf(
  path: string,
  options: RenderOptions,
  at?: { readonly name: string; readonly op?: string },
) {
  const { name, op } = at ?? {};
  const logical =
    name === undefined
      ? {}
      : {
          logicalLocations: [
            {
              name,
              fullyQualifiedName: `graph/${name}`,
              kind: op === undefined ? "tensor" : "node",
              ...(op === undefined ? {} : { decoratedName: op }),
            },
          ],
        };
  return {
    physicalLocation: { artifactLocation: { uri: uriOf(path, options) }, region: { startLine: 1 } },
    ...logical,
  };
}
