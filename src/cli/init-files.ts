/** @file What `tc-lint init` writes: a configuration, a hook, a workflow. */
import { version } from "../version.ts";

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
  /** Where the configuration's schema is; undefined where nobody has it. */
  readonly schema: string | undefined;
  /** `owner/name` of the Action's repository; without it the workflow runs the command. */
  readonly action: string | undefined;
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
      ? [{ path: ".github/workflows/tc-lint.yml", at: "root", others: [], text: workflowOf(choice) } as const]
      : []),
  ];
}

function configOf({ gpu, stack, schema: $schema }: InitChoice): string {
  return `${JSON.stringify({ $schema, gpu, stack, rules: {} }, undefined, 2)}\n`;
}

const hook = `repos:
  - repo: local
    hooks:
      - id: tc-lint
        name: tc-lint
        # Fails on what --fix would repair.
        entry: tc-lint --force-exclude --no-error-on-unmatched-pattern --fail-on-untracked-data
        args: [--fail-on, fixable]
        language: node
        additional_dependencies: ["tc-lint@${version}", --ignore-scripts]
        files: '\\.onnx$'
        require_serial: true
`;

function workflowOf({ action }: InitChoice): string {
  return action === undefined ? commandWorkflow : actionWorkflow(action);
}

const checkout = `      - uses: actions/checkout@v4
        with:
          # A pointer of Git LFS is no model, and fails.
          lfs: true
`;

function actionWorkflow(action: string): string {
  return `name: tc-lint
on:
  pull_request:
  push:
    branches: [main]
permissions:
  contents: read
  # The comment. Pull requests of forks have no such right: docs/action.md has a second workflow for theirs.
  pull-requests: write
concurrency:
  group: tc-lint-\${{ github.ref }}
  cancel-in-progress: \${{ github.event_name == 'pull_request' }}
jobs:
  tc-lint:
    runs-on: ubuntu-latest
    steps:
${checkout}      - uses: ${action}@v${version}
        id: tc-lint
        with:
          html: tc-lint.html
      - uses: actions/upload-artifact@v4
        if: \${{ !cancelled() }}
        with:
          name: tc-lint
          path: tc-lint.html
          if-no-files-found: ignore
      - uses: actions/upload-artifact@v4
        if: \${{ !cancelled() && steps.tc-lint.outputs.comment-file != '' }}
        with:
          name: tc-lint-comment
          path: \${{ steps.tc-lint.outputs.comment-file }}
`;
}

const commandWorkflow = `name: tc-lint
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
${checkout}      - uses: actions/setup-node@v4
        with:
          node-version: 24
      # As the hook: what --fix repairs fails. Annotations and a summary of the step come with the text.
      - run: npx --yes tc-lint@${version} --fail-on fixable .
`;
