/** @file The program's name beside the executable: the build puts a digest of it there, so that compiled code is known by its name. */
declare const builtProgramFile: string;

export const programFile: string = builtProgramFile;
