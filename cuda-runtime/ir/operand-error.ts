/**
 * @file An operand that a kernel cannot take: a type that its arithmetic is not there for, a number beyond what its
 * parameters hold. Lowerings need not ask; whoever plans says at which node it was.
 */
export class OperandError extends Error {
  override readonly name = "OperandError";
}

/** More elements than a kernel can count: see PlanSizeError. */
export class OperandSizeError extends OperandError {}
