/** @file What a pass is: a model and its facts in, a patch and an account of it out. It reads no file and writes none. */
import type { Saving } from "../cost/model.ts";
import type { WorkDetail } from "../cost/terms.ts";
import type { Facts } from "../facts/infer.ts";
import type { Target } from "../hardware/target.ts";
import type { DType } from "../ir/dtype.ts";
import type { Model, Node } from "../ir/model.ts";
import type { OpenTensor, Patch } from "../ir/patch.ts";
import type { Stacked } from "../ir/stacked.ts";
import type { TrafficVariant, Work } from "../ops/work.ts";
import type { WorkChange } from "../workload/change.ts";
import type { CostedProduct } from "../workload/product.ts";
import type { TrafficStep } from "../workload/timeline.ts";
import type { ToldPadding } from "./align/told.ts";
import type { FreshNames } from "./names.ts";

/** In the order they run. */
export const passNames = ["batch", "plugins", "fold", "join", "align", "half", "channels-last"] as const;
export type PassName = (typeof passNames)[number];

/** The cost model as a pass asks it, for one target. */
export interface Pricing {
  /** Microseconds of one run of some work; `detail` tells what the work alone does not. */
  readonly estimate: (work: Work<number>, detail?: WorkDetail) => number;
  /** What a pass with an operand that repeats is priced as: a kernel of its own where the stack runs a kernel a node. */
  readonly repeating: WorkDetail | undefined;
  /**
   * What a Slice or a Pad between two kernels runs as; nothing where it is a view, or a part of either. Undefined where padding is to put
   * none there.
   */
  readonly inside:
    | { readonly slices: TrafficVariant | undefined; readonly pads: TrafficVariant | undefined }
    | undefined;
  /** Why the stack runs no Pad of values of a type; undefined where it does. */
  readonly cannotPad: (dtype: DType) => string | undefined;
  /** Of the predicted saving of changes that happen together: what may be missing from it, in one case of twenty. */
  readonly uncertainty: (changes: readonly WorkChange[]) => number;
  /** Whether a change whose saving may be missing altogether is left. */
  readonly mustGain: boolean;
  /** Sizes of symbols: as given, else plausible ones. */
  readonly bindings: ReadonlyMap<string, number>;
  /** The whole model's predicted time. */
  readonly modelMicroseconds: number;
  /** A change that saves less is not worth making. */
  readonly leastMicroseconds: number;
}

/**
 * Predicted times with every value in the type that it is stored in, whatever precision the target is asked for: what a
 * change of types is judged by.
 */
export interface Account {
  /** Microseconds of one run of some work. */
  readonly estimate: (work: Work<number>) => number;
  /** The whole model's, with a patch applied. */
  readonly microsecondsWith: (patch: Patch) => number;
}

/** How large values were seen to get. */
export interface Ranges {
  /** Largest magnitude by value name; Infinity where a NaN or an infinity was seen. */
  readonly largest: ReadonlyMap<string, number>;
  /**
   * Seen on the user's own inputs. Drawn ones only ever give reasons for FP32: that they stay small says nothing of
   * what a model is used on.
   */
  readonly areSamples: boolean;
}

export interface PassOptions {
  /** The type that `half` brings floats to. */
  readonly halfType: Extract<DType, "float16" | "bfloat16">;
  /** Inputs and outputs become half as well. */
  readonly halfIo: boolean;
  readonly ranges: Ranges | undefined;
  /** A model that half is predicted to slow down stays FP32; by default it is converted as asked, and that is said. */
  readonly halfOnlyWhereFaster?: boolean | undefined;
  /** Nobody asks what conversion to half saves by itself: its note has no time, which takes the model to be priced twice more. */
  readonly halfUnpriced?: boolean | undefined;
  /** NHWC comes behind: half is chosen as if it had come, and whoever brings it judges the two together. */
  readonly nhwcFollows?: boolean | undefined;
  /** Inputs and outputs become NHWC as well. */
  readonly nhwcIo: boolean;
  /** `ort-cuda` writes com.microsoft::NhwcConv; `portable` local functions that every runtime can run. */
  readonly nhwcForm: "portable" | "ort-cuda";
  /** Regions that NHWC is predicted to slow down stay NCHW; by default they are moved as well, and named. */
  readonly nhwcOnlyWhereFaster?: boolean;
  /** What `batch` makes of a batch that the file fixes: a size, or a symbol. */
  readonly batch?: number | "dynamic" | undefined;
}

export interface PassContext {
  readonly model: Model;
  /** Inferred without the sizes that the user binds: what is written must hold at every size. */
  readonly facts: Facts;
  /** At the sizes that price it. */
  readonly products: readonly CostedProduct[];
  /** What runs between products, of the main graph. */
  readonly traffic: readonly TrafficStep[];
  readonly pricing: Pricing;
  readonly account: Account;
  readonly target: Target;
  readonly names: FreshNames;
  readonly open: OpenTensor;
  readonly options: PassOptions;
  /** Why a part of the pass's work is to be left out, by the name that `PassResult.parts` had for it. */
  readonly leftOut?: ((part: string) => string | undefined) | undefined;
  /** What inference makes of the model with a patch applied, at no size in particular; nothing is kept. */
  readonly preview: (patch: Patch) => Facts;
  /** The model with a patch applied; nothing is kept. */
  readonly patched: (patch: Patch) => Model;
  /** What a patch saves in a run of the model, at the target's precision. */
  readonly savingOf: (patch: Patch) => Saving;
}

/** Something a pass did, or found it could not do; `failed` is what it did wrong, and is not in the result. */
export interface PassNote {
  readonly kind: "changed" | "blocked" | "kept" | "failed";
  /** Where; undefined for the model as a whole. */
  readonly node: Node | undefined;
  readonly message: string;
  /**
   * Predicted, for one run of the model: saved by a change, or not saved because of a block. In a repair's report, changes add up to what
   * it saves; where a pass prices its changes together, the first of them has it all.
   */
  readonly microseconds?: number | undefined;
  /** Of a change: all nodes of the products that it is about. */
  readonly products?: readonly Node[];
  /** Of padding: what it did. */
  readonly padding?: ToldPadding;
  /** Set where a product stays FP32, or is half, whatever it gains there: what it gains may differ in another layout. */
  readonly isByPrice?: true;
}

/** What a pass does in one place of a model: its parts stand or fall together. */
export interface PassRegion {
  /** For people: `padded 60 to 64 in 3 products`. */
  readonly what: string;
  /** The same of regions that do the same to the same work, as the layers of a repeated block. */
  readonly shape: string;
  /** Of `PassResult.parts`. */
  readonly parts: readonly string[];
  /** Predicted to be saved in a run of the model. */
  readonly microseconds: number;
  /** Of padding: what it pads, as its change has it. */
  readonly padding?: ToldPadding | undefined;
  /** Set where it takes nodes between those of the model that it could do without, doing less. */
  readonly addsInside?: true | undefined;
}

export interface PassResult {
  readonly patch: Patch;
  readonly notes: readonly PassNote[];
  /** What the patch is made of, each of which can be left out by itself; none where it is all or nothing. */
  readonly parts?: readonly string[] | undefined;
  /** Labels of nodes of the main graph that one rule stands for, a plugin's or that of what is joined: no other is to say that they go. */
  readonly rewritten?: readonly string[] | undefined;
  /** Sets of parts that were decided by themselves; none where all were decided together. */
  readonly regions?: readonly PassRegion[] | undefined;
  /** Of inputs and outputs that the patch transposes, by name: the new axis i is the old axis p[i]. */
  readonly permutations?: ReadonlyMap<string, readonly number[]> | undefined;
  /** Where the patch gives the model another batch: how a run of it is made of runs of the model before. */
  readonly stacked?: Stacked | undefined;
}

export interface Pass {
  readonly name: PassName;
  /** Safe passes keep every value to rounding, and inputs and outputs as they are. */
  readonly safe: boolean;
  /** It makes the same of a model whatever that is priced for. */
  readonly isOfModelAlone?: boolean;
  readonly run: (context: PassContext) => PassResult;
}
