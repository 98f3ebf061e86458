/** @file Which inputs both models are run on, and what the original makes of them. */
import { InputError } from "../ir/errors.ts";
import type { Model } from "../ir/model.ts";
import { requiredInputs } from "../ir/symbols.ts";
import type { Budget } from "./budget.ts";
import { type Draw, type DrawKind, drawInputs } from "./inputs.ts";
import type { Optimization, Session } from "./ort.ts";
import type { DrawReport } from "./report.ts";
import { type GivenSizes, type InputsFlag, sizeAttempts, usualInputs } from "./sizes.ts";
import { convert, type Tensors } from "./tensor.ts";
import type { Bindings } from "./use.ts";

export interface Run {
  readonly draw: DrawReport;
  readonly inputs: Tensors;
  /** What the original gives. */
  readonly expected: Tensors;
  /** Whether hardly anyone gives such inputs. */
  readonly isUnusual?: boolean;
  /** Whether it holds infinities, or numbers of which sums make them. */
  readonly mayBeInfinite?: boolean;
}

export interface PlanOptions {
  readonly budget: Budget;
  /** How many normal draws. */
  readonly seeds: number;
  readonly sizes: GivenSizes;
  /** Instead of drawn ones. */
  readonly given: Tensors | undefined;
  readonly onProgress: (what: string) => void;
  /** One size of each symbol is enough; two unless it says so. */
  readonly oneSize?: boolean;
  /** For messages; `--inputs` unless it says so. */
  readonly inputsFlag?: InputsFlag | undefined;
}

export interface Plan {
  readonly runs: readonly Run[];
  readonly notices: readonly string[];
  /** The smallest sizes that ran; undefined for given inputs. */
  readonly smallest: Place | undefined;
}

/** What a draw takes beside its kind and seed. */
export type Place = Pick<Draw, "sizes" | "isNarrow">;

/** Runs the original on every set of inputs. Throws InputError `cannot-run` where it takes none. */
export async function runOriginal(session: Session, model: Model, options: PlanOptions): Promise<Plan> {
  if (options.given !== undefined) return runGiven(session, model, options.given);
  const found = await findSizes(session, model, options);
  const place = placeOf(found.first[0], found.isNarrow);
  const runs = [...found.first];
  for (const { kind, seed } of furtherDraws(options)) {
    runs.push(await runDraw(session, model, { kind, seed, ...place }, options));
  }
  return { runs, notices: found.notices, smallest: place };
}

export function placeOf(run: Run | undefined, isNarrow: boolean): Place {
  return { sizes: new Map(Object.entries(run?.draw.sizes ?? {})), isNarrow };
}

async function runGiven(session: Session, model: Model, given: Tensors): Promise<Plan> {
  const inputs = new Map(
    requiredInputs(model).map(({ name, declared }) => {
      const tensor = given.get(name);
      if (tensor === undefined) {
        throw new InputError(
          "usage",
          `${model.path}: input "${name}" is not among those given: ${[...given.keys()].join(", ")}`,
        );
      }
      const dtype = declared?.kind === "tensor" ? declared.dtype : undefined;
      return [name, dtype === undefined ? tensor : convert(tensor, dtype, `input "${name}"`)];
    }),
  );
  const expected = await session.run(inputs);
  const run = { draw: { name: "given", sizes: {} }, inputs, expected };
  return { runs: [run], notices: [], smallest: undefined };
}

/** Beyond the first normal draw at every size. Half precision is judged on the range that its islands were chosen for. */
export function furtherDraws({ budget, seeds }: PlanOptions): { kind: DrawKind; seed: number }[] {
  const normal = Array.from({ length: Math.max(0, seeds - 1) }, (_, index) => ({
    kind: "normal" as const,
    seed: index + 2,
  }));
  const others: readonly DrawKind[] =
    budget.kind === "half" ? ["negative", "zero"] : ["large", "negative", "zero"];
  return [...normal, ...others.map((kind) => ({ kind, seed: 1 }))];
}

export interface FoundSizes {
  readonly first: readonly Run[];
  readonly notices: readonly string[];
  readonly isNarrow: boolean;
}

/** The first sizes that the original takes, both of them if it can be. */
export async function findSizes(session: Session, model: Model, options: PlanOptions): Promise<FoundSizes> {
  const refusals: InputError[] = [];
  let single: FoundSizes | undefined;
  for (const isNarrow of [false, true]) {
    for (const attempted of sizeAttempts(model, options.sizes, options.inputsFlag)) {
      const bindings = options.oneSize === true ? attempted.slice(0, 1) : attempted;
      const first: Run[] = [];
      for (const sizes of bindings) {
        const run = await attempt(() =>
          runDraw(session, model, { kind: "normal", seed: 1, sizes, isNarrow }, options),
        );
        if (run instanceof InputError) refusals.push(run);
        else first.push(run);
        // A size that is refused mostly is too small: its larger neighbour tells nothing.
        if (first.length === 0) break;
      }
      if (first.length === bindings.length) return { first, notices: [], isNarrow };
      if (first.length > 0) single ??= { first, notices: [oneSizeNotice(first, refusals)], isNarrow };
    }
    if (single !== undefined) return single;
  }
  const [reason] = refusals;
  const { inputsFlag: flag = usualInputs } = options;
  throw new InputError(
    "cannot-run",
    `${reason?.message ?? `${model.path}: there is nothing to run it on`}; give sizes with --dim${flag === null ? "" : `, or inputs with ${flag}`}`,
  );
}

function oneSizeNotice(runs: readonly Run[], refusals: readonly InputError[]): string {
  const sizes = runs.map(({ draw }) => sizeText(draw.sizes)).join(" and ");
  return `compared at ${sizes} only: other sizes do not run (${refusals.at(-1)?.message ?? "unknown reason"})`;
}

/** Refusals of ONNX Runtime are answers here. */
export async function attempt<T>(action: () => Promise<T>): Promise<T | InputError> {
  try {
    return await action();
  } catch (error) {
    if (error instanceof InputError && error.code === "cannot-run") return error;
    throw error;
  }
}

/** In names of draws; everything else is said of the level at which operators are computed one by one. */
export const howText = {
  basic: "",
  disabled: ", optimizations off",
  all: ", all optimizations",
} as const satisfies Record<Optimization, string>;

export async function runDraw(
  session: Session,
  model: Model,
  draw: Draw,
  { onProgress }: Pick<PlanOptions, "onProgress">,
): Promise<Run> {
  const { optimization } = session;
  const how = howText[optimization];
  const report = { name: `${draw.kind}, seed ${draw.seed}${how}`, sizes: sizesOf(draw.sizes) };
  onProgress(`the original, ${drawText(report)}`);
  const inputs = drawInputs(model, draw);
  return { draw: report, inputs, expected: await session.run(inputs) };
}

function sizesOf(bindings: Bindings): Record<string, number> {
  return Object.fromEntries(bindings);
}

export function sizeText(sizes: Readonly<Record<string, number>>): string {
  return Object.entries(sizes)
    .map(([name, size]) => `${name}=${size}`)
    .join(", ");
}

export function drawText({ name, sizes }: DrawReport): string {
  const text = sizeText(sizes);
  return text === "" ? name : `${name}, ${text}`;
}
