/**
 * @file Columns of a text in a terminal, in place of the package string-width in the bundle (scripts/build.mjs).
 *
 * yargs measures its help with string-width, which makes an Intl.Segmenter when it is imported: 28 ms of every start, for
 * texts that are all ours and all of single columns.
 */
import { stripVTControlCharacters } from "node:util";

export default function textWidth(text: string): number {
  return [...stripVTControlCharacters(text)].length;
}
