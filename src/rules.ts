/** @file `tc-lint/rules`: what rules of one's own are written with. docs/custom-rules.md has three of them. */

export { encode as encodeModel } from "./api/lint.ts";
export {
  type ExpectedFinding,
  type InvalidCase,
  type RuleCases,
  RuleTester,
  type RuleTesterOptions,
  type TestCase,
} from "./api/rule-tester.ts";
export { type TestGraph, type TestNode, type TestTensor, testModel } from "./api/test-model.ts";
export type { Dim, Shape } from "./ir/dim.ts";
export type { DType } from "./ir/dtype.ts";
export type { Edits, NewAttribute, NewNode, NewTensor } from "./ir/edits.ts";
export type { Attribute, Graph, Node, Value } from "./ir/model.ts";
export type { LintContext, Saving, Step, Work } from "./lint/context.ts";
export type { GraphFacts } from "./lint/pattern/graph-facts.ts";
export type { Match } from "./lint/pattern/match.ts";
export type {
  AttributePattern,
  Operands,
  OpOptions,
  Pattern,
  PatternBuilder,
  ShapePattern,
  TensorOptions,
  ThenOptions,
} from "./lint/pattern/pattern.ts";
export type { MatchCost } from "./lint/plugin/cost.ts";
export {
  type CheckRule,
  definePlugin,
  defineRule,
  type PatternRule,
  type Plugin,
  type PluginRule,
  type Report,
} from "./lint/plugin/rule.ts";
export type { RuleFinding, Site } from "./lint/rule.ts";
