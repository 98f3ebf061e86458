/** @file What work says of what it reads, to whoever guards it. Of its own: workers that are guarded otherwise load no guard. */

/** Is told of bytes that are read. */
export type OnRead = (bytes: number) => void;

/** What `OnRead` throws at work that reads too much to be quick: it is begun again. */
export class ReadTooMuch extends Error {}
