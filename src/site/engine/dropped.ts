/** @file Files that were given together: which of them are models, and which hold the data of these. */
import { InputError } from "../../ir/errors.ts";
import { BlockSource } from "../../onnx/block-source.ts";
import { DataFiles, type DataFolder } from "../../onnx/data-files.ts";
import { modelFromSource, type OpenModel } from "../../onnx/read-model.ts";
import { BlobSource } from "./blob-source.ts";

export interface Dropped {
  readonly models: readonly File[];
  /** Files lie side by side: a model finds its data by name, whatever folder it names. */
  readonly folder: DataFolder;
}

/** What exporters call a model's external data: alone it is no model, whatever its bytes happen to say. */
const dataName = /\.(?:weights|data|onnx_data)$/i;

/** Throws InputError: `no-models` where nothing looks like one, `same-name` where a name is there twice. */
export function sorted(files: readonly File[]): Dropped {
  const named = new Map<string, File>();
  for (const file of files) {
    if (named.has(file.name)) {
      const what = "is there twice; give the files of one folder at a time";
      throw new InputError("same-name", `${file.name}: ${what}`);
    }
    named.set(file.name, file);
  }
  const isAlone = files.length === 1 && files.every(({ name }) => !dataName.test(name));
  const models = isAlone ? files : files.filter(({ name }) => /\.onnx$/i.test(name));
  if (models.length === 0) throw new InputError("no-models", noModels(files));
  return { models, folder: { find: (location) => foundIn(named, location) } };
}

function noModels(files: readonly File[]): string {
  if (files.length === 0) return "no files: expected a model, and its external data where it has some";
  const names = files.slice(0, 3).map(({ name }) => name);
  const more = files.length > names.length ? ` and ${files.length - names.length} more` : "";
  const hint = files.some(({ name }) => dataName.test(name)) ? "; external data goes with its model" : "";
  return `${names.join(", ")}${more}: no name ends in .onnx${hint}`;
}

function foundIn(named: ReadonlyMap<string, File>, location: string) {
  const file = named.get(location) ?? named.get(location.split(/[/\\]/).at(-1) ?? "");
  return file && { bytes: file.size, open: () => new BlobSource(file) };
}

/** A model for as long as the result is not disposed. Throws InputError. */
export function openDropped(file: File, folder: DataFolder): OpenModel {
  // Every range is a message to the browser: it pays to ask for more than is wanted.
  return modelFromSource(new BlockSource(new BlobSource(file)), new DataFiles(folder));
}
