/** @file `tc-lint predict`: rows with the columns of h200-pytorch-ops.json in, their predicted times out. */
import type { Target } from "../hardware/target.ts";
import type { CostModel } from "./model.ts";
import { computeTypeOn } from "./precision.ts";
import { standInText } from "./rates.ts";
import { parseRow, type RowFamily, rowFamilies } from "./rows.ts";

/** [microseconds, low, high]; null where the row could not be read. */
export type PredictedRow = readonly [microseconds: number, low: number, high: number] | null;

export interface Prediction {
  readonly rows: Readonly<Partial<Record<RowFamily, readonly PredictedRow[]>>>;
  /** "gemm[3]: M is missing, …": rows and fields that were not understood. */
  readonly problems: readonly string[];
  /** What rows are predicted as, where that is not what they say. */
  readonly notes: readonly string[];
}

/** Fields that measurement files carry beside rows. */
const passedOver = new Set(["meta", "note", "columns"]);

/** Rows name their own number format. `onRow` is told where it is, before each row. */
export function predict(
  input: unknown,
  cost: CostModel,
  target: Omit<Target, "precision">,
  onRow?: (family: RowFamily, index: number, count: number) => void,
): Prediction {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    return {
      rows: {},
      problems: [`expected an object of rows by family: ${rowFamilies.join(", ")}`],
      notes: [],
    };
  }
  const problems: string[] = [];
  const notes = new Set<string>();
  if (target.stack.kernels === "tc-runtime")
    notes.add(
      `${target.stack.name} plans whole models with kernels of its own, which have no rows: these are predicted as cuBLAS and cuDNN take them; lint and bench --plan say what it takes of a model`,
    );
  const rows: Partial<Record<RowFamily, readonly PredictedRow[]>> = {};
  for (const [name, value] of Object.entries(input)) {
    const family = rowFamilies.find((each) => each === name);
    if (family === undefined) {
      if (!passedOver.has(name)) problems.push(`${name}: no such family; known: ${rowFamilies.join(", ")}`);
    } else if (Array.isArray(value)) {
      rows[family] = value.map((row: unknown, index) => {
        onRow?.(family, index, value.length);
        const predicted = predictRow(family, row, cost, target);
        if (typeof predicted === "string") {
          problems.push(`${family}[${index}]: ${predicted}`);
          return null;
        }
        if (predicted.note !== undefined) notes.add(predicted.note);
        return predicted.row;
      });
    } else {
      problems.push(`${family}: not an array of rows`);
    }
  }
  return { rows, problems, notes: [...notes] };
}

function predictRow(
  family: RowFamily,
  row: unknown,
  cost: CostModel,
  target: Omit<Target, "precision">,
): { readonly row: PredictedRow; readonly note: string | undefined } | string {
  const parsed = parseRow(family, row);
  if (typeof parsed === "string") return parsed;
  const { work, precision, variant } = parsed;
  const own = { ...target, precision };
  const { microseconds, low, high } = cost.estimate(work, own, { variant });
  const note = work.kind === "traffic" ? undefined : standInText(own, computeTypeOn(work.dtype, own));
  return { row: [rounded(microseconds), rounded(low), rounded(high)], note };
}

/** As the measured rows: nanoseconds. */
function rounded(microseconds: number): number {
  return Number(microseconds.toFixed(3));
}
