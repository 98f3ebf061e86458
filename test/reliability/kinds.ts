/** @file How a call on files can fail. */

export const errorCodes = ["ENOSPC", "EIO", "EACCES", "EROFS", "EMFILE"] as const;

/** `short`: a read or write does half of what it is asked to; `nothing`: none of it. */
export type FaultKind = (typeof errorCodes)[number] | "short" | "nothing";
