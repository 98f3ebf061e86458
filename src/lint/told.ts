/**
 * @file What is told of all that was judged: not what somebody switched off. Figures of what is told are what they are beside all else; rows of the account
 * that are sums of findings are of those that are told.
 */
import { combineSavings } from "../cost/saving.ts";
import type { AccountStepName } from "../workload/account.ts";
import { behind } from "./claims.ts";
import type { Judged } from "./judge.ts";
import type { AccountStep, SavingReport } from "./result.ts";

type Entry = Judged["listed"][number];

/** `estimated` are the steps that are sums of findings. */
export function withoutUntold(judged: Judged, estimated: readonly AccountStepName[]): Judged {
  const listed = judged.listed.filter(isTold);
  if (listed.length === judged.listed.length) return judged;
  return { ...judged, listed, account: accountOfTold(judged.account, listed, estimated) };
}

function isTold({ isUntold }: Entry): boolean {
  return isUntold !== true;
}

/** Rows that are sums of findings, of those that are told; without those that none is a part of. */
export function accountOfTold(
  account: readonly AccountStep[],
  told: readonly Entry[],
  estimated: readonly AccountStepName[],
): AccountStep[] {
  const rows: AccountStep[] = [];
  for (const row of account) {
    const before = rows.at(-1);
    if (before === undefined || !estimated.includes(row.step)) {
      rows.push(row);
      continue;
    }
    const savings = told.flatMap(({ group }) => (group.step === row.step ? (group.saves ?? []) : []));
    if (savings.length === 0) continue;
    const saves = combineSavings(savings);
    const written = row.written && { written: writtenOf(savings, row.written) };
    rows.push({ ...row, ...behind(before, saves), saves, ...written });
  }
  return rows;
}

type Written = NonNullable<AccountStep["written"]>;

/** What those that are told save of the file as it is stored, where the row says what all of them do. */
function writtenOf(savings: readonly SavingReport[], all: Written): Written {
  const saves = combineSavings(savings.flatMap(({ asStored }) => asStored ?? []));
  return { ...saves, after: all.after + all.microseconds - saves.microseconds };
}
