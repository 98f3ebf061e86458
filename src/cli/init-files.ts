/** @file What `tc-lint init` writes: a configuration, a hook, a workflow. */
import { schemaPage, version } from "../version.ts";

export interface InitFile {
  /** From the working directory, or from the root of the repository. */
  readonly path: string;
  readonly at: "here" | "root";
  /** Other names of the same: where one is there, nothing is written. */
  readonly others: readonly string[];
  readonly text: string;
}

export interface InitChoice {
  readonly gpu: string;
  readonly stack: string;
  readonly hook: boolean;
  readonly workflow: boolean;
  /** Whether tc-lint is among the packages of the folder. */
  readonly isInstalled: boolean;
}

export function initFiles(choice: InitChoice, configNames: readonly string[]): InitFile[] {
  const name = "tc-lint.config.json";
  const others = configNames.filter((each) => each !== name);
  return [
    { path: name, at: "here", others, text: configOf(choice) },
    ...(choice.hook
      ? [{ path: ".pre-commit-config.yaml", at: "root", others: [], text: hook } as const]
      : []),
    ...(choice.workflow
      ? [{ path: ".github/workflows/tc-lint.yml", at: "root", others: [], text: workflow } as const]
      : []),
  ];
}

function configOf({ gpu, stack, isInstalled }: InitChoice): string {
  const $schema = isInstalled ? "./node_modules/tc-lint/schemas/config.schema.json" : schemaPage;
  return `${JSON.stringify({ $schema, gpu, stack, rules: {} }, undefined, 2)}\n`;
}

const hook = `repos:
  - repo: local
    hooks:
      - id: tc-lint
        name: tc-lint
        # Fails on what --fix would repair.
        entry: tc-lint --force-exclude --no-error-on-unmatched-pattern
        args: [--fail-on, fixable]
        language: node
        additional_dependencies: ["tc-lint@${version}", --ignore-scripts]
        files: '\\.onnx$'
        require_serial: true
`;

const workflow = `name: tc-lint
on:
  pull_request:
  push:
    branches: [main]
permissions:
  contents: read
jobs:
  tc-lint:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
        with:
          # A pointer of Git LFS is no model, and fails.
          lfs: true
      - uses: actions/setup-node@v4
        with:
          node-version: 24
      # As the hook: what --fix repairs fails. Annotations and a summary of the step come with the text.
      - run: npx --yes tc-lint@${version} --fail-on fixable .
`;
