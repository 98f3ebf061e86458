/** @file How the L2 cache of every architecture since Volta is cut. */

/** That are read from DRAM at once, and written there. */
export const sectorBytes = 32;
/** Of four sectors, that lie together. */
export const lineBytes = 128;
