/** @file Fields of a launch's parameter by the names of its table: for tests that run launches by their meaning. */
import type { StructLayout } from "../../../cuda-runtime/ir/param-table.ts";
import type { Launch } from "../../../cuda-runtime/ir/step.ts";
import type { View } from "../../../cuda-runtime/ir/view.ts";

/** Where operands are: row-major elements of views. */
export interface ElementMemory {
  read(view: View): ArrayLike<number>;
  write(view: View, values: ArrayLike<number>): void;
}

export interface Fields {
  int(name: string): number;
  ints(name: string, count: number): readonly number[];
  float(name: string): number;
  view(name: string): View | undefined;
  /** Of a struct within this one. */
  within(name: string, struct: StructLayout): Fields;
}

export function fieldsOf(launch: Launch, struct: StructLayout): Fields {
  const { bytes } = launch.params;
  if (bytes.length !== struct.bytes)
    throw new Error(`a struct of ${bytes.length} bytes, not ${struct.bytes}`);
  return fieldsAt(launch, struct, 0);
}

function fieldsAt(launch: Launch, struct: StructLayout, start: number): Fields {
  const { bytes, pointers } = launch.params;
  const data = new DataView(bytes.buffer, bytes.byteOffset);
  const place = (name: string) => {
    const member = struct.members.find((each) => each.name === name);
    if (member === undefined) throw new Error(`${struct.name} has no ${name}`);
    return start + member.offset;
  };
  return {
    int: (name) => data.getInt32(place(name), true),
    ints: (name, count) =>
      Array.from({ length: count }, (_, index) => data.getInt32(place(name) + 4 * index, true)),
    float: (name) => data.getFloat32(place(name), true),
    view: (name) => pointers.find(({ at }) => at === place(name))?.view,
    within: (name, inner) => fieldsAt(launch, inner, place(name)),
  };
}
