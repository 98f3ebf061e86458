/** Domain of the local functions that say "this operator on NHWC values": Transpose, operator, Transpose inside. */
export const nhwcDomain = "tc_lint.nhwc";
