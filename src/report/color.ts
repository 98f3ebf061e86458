/** @file The colours of a report. Chalk is told the level: it would ask the terminal and pass NO_COLOR over. */
import { Chalk, type ChalkInstance } from "chalk";
import type { Severity } from "../lint/result.ts";
import type { ColorLevel } from "./render.ts";

export interface Palette {
  readonly bold: ChalkInstance;
  readonly dim: ChalkInstance;
  readonly code: ChalkInstance;
  readonly good: ChalkInstance;
  readonly bad: ChalkInstance;
  readonly heading: ChalkInstance;
  readonly severity: Readonly<Record<Severity, ChalkInstance>>;
}

export function paletteOf(level: ColorLevel): Palette {
  const chalk = new Chalk({ level });
  return {
    bold: chalk.bold,
    dim: chalk.dim,
    code: chalk.cyan,
    good: chalk.green,
    bad: chalk.red.bold,
    heading: chalk.bold.underline,
    severity: { error: chalk.red, warn: chalk.yellow, info: chalk.blue },
  };
}
