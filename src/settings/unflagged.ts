/** @file The precision that a fix is decided for where no flag beside it names one. */
import type { Precision } from "../hardware/target.ts";
import type { ConfigChain } from "./chain.ts";
import type { SettingFlags } from "./resolve.ts";
import type { Scenario } from "./scenarios.ts";
import { standard } from "./standard.ts";

/** Undefined where no flag names a precision: a scenario of a configuration is no flag. */
export function unflaggedOf(
  chain: ConfigChain | undefined,
  flags: Pick<SettingFlags, "precision">,
  scenario: Scenario | undefined,
): Precision | undefined {
  const isConfigured = scenario?.name !== undefined;
  const named = flags.precision ?? (isConfigured ? undefined : scenario?.settings.precision);
  if (named === undefined) return undefined;
  const own = isConfigured ? scenario.settings.precision : undefined;
  return own ?? configured(chain) ?? standard.precision;
}

/** The nearest configuration that names one. */
function configured(chain: ConfigChain | undefined): Precision | undefined {
  return chain?.layers.findLast(({ config }) => config.precision !== undefined)?.config.precision;
}
