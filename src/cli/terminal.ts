/** @file What a terminal is shown beside text: colours. */
import type { ColorLevel } from "../report/render.ts";

export interface ColorContext {
  /** `--color` or `--no-color`. */
  readonly flag: boolean | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly isTerminal: boolean;
}

/** Whether to colour: the flag decides, then FORCE_COLOR, then NO_COLOR, then whether a terminal reads. */
export function colorLevel({ flag, env, isTerminal }: ColorContext): ColorLevel {
  return isColored(flag, env, isTerminal) ? 1 : 0;
}

/** Of a report: the environment speaks for stdout alone, not for files. */
export function reportColor(flag: boolean | undefined, toStdout: boolean): ColorLevel {
  const isTerminal = toStdout && process.stdout.isTTY === true;
  return colorLevel({ flag, env: toStdout ? process.env : {}, isTerminal });
}

function isColored(flag: boolean | undefined, env: ColorContext["env"], isTerminal: boolean): boolean {
  if (flag !== undefined) return flag;
  const { FORCE_COLOR: force, NO_COLOR: no, TERM: term } = env;
  if (force !== undefined) return force !== "0" && force !== "false";
  if (no !== undefined && no !== "") return false;
  return isTerminal && term !== "dumb";
}
