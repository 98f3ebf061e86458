/** @file What control groups leave a process, by the files that say so. */
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { limitMemoryBy, memoryShare } from "../../src/ir/memory.ts";
import { groupMemoryBytes } from "../../src/limits/control-group.ts";

const GiB = 2 ** 30;

function limitOf(files: Readonly<Record<string, string>>): number {
  return groupMemoryBytes((path) => (Object.hasOwn(files, path) ? files[path] : undefined));
}

const own = "/proc/self/cgroup";
const v2 = "/sys/fs/cgroup";
const v1 = "/sys/fs/cgroup/memory";

describe("what control groups leave", () => {
  it.each<readonly [what: string, files: Record<string, string>, bytes: number]>([
    ["of version 2, the group's own", { [own]: "0::/a\n", [`${v2}/a/memory.max`]: `${GiB}\n` }, GiB],
    [
      "of version 2, one above",
      {
        [own]: "0::/a/b/c\n",
        [`${v2}/a/b/c/memory.max`]: "max\n",
        [`${v2}/a/b/memory.max`]: `${3 * GiB}\n`,
        [`${v2}/a/memory.max`]: `${2 * GiB}\n`,
      },
      2 * GiB,
    ],
    ["of version 2, memory.high", { [own]: "0::/a/b\n", [`${v2}/a/memory.high`]: `${GiB}\n` }, GiB],
    ["of version 2, a container's own root", { [own]: "0::/\n", [`${v2}/memory.max`]: `${GiB}\n` }, GiB],
    [
      "of version 1, its own and one above",
      {
        [own]: "5:cpu,cpuacct:/x\n4:memory:/a/b\n0::/\n",
        [`${v1}/a/b/memory.limit_in_bytes`]: `${3 * GiB}\n`,
        [`${v1}/a/memory.limit_in_bytes`]: `${2 * GiB}\n`,
        [`${v1}/x/memory.limit_in_bytes`]: `${GiB}\n`,
      },
      2 * GiB,
    ],
    [
      "of version 1 in a container, which sees the topmost",
      { [own]: "4:hugetlb,memory:/docker/5f\n", [`${v1}/memory.limit_in_bytes`]: `${GiB}\n` },
      GiB,
    ],
    ["a name with a colon", { [own]: "0::/a:b\n", [`${v2}/a:b/memory.max`]: `${GiB}\n` }, GiB],
    ["outside its namespace", { [own]: "0::/../a\n", [`${v2}/memory.max`]: `${GiB}\n` }, GiB],
    ["nothing where all say max", { [own]: "0::/a\n", [`${v2}/a/memory.max`]: "max\n" }, Infinity],
    ["nothing that is no number", { [own]: "0::/a\n", [`${v2}/a/memory.max`]: "-1\n" }, Infinity],
    ["nothing where files cannot be read", { [own]: "0::/a\n" }, Infinity],
    ["nothing where there are no groups", {}, Infinity],
  ])("%s", (_, files, bytes) => {
    expect(limitOf(files)).toBe(bytes);
  });

  it("is some number whatever the file holds, and looks nowhere else", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (line, path) => {
        const seen: string[] = [];
        const read = (file: string) => {
          seen.push(file);
          return file === own ? `${line}\n0::/${path}\n4:memory:/${path}` : "1";
        };
        expect(groupMemoryBytes(read)).toBeGreaterThan(0);
        expect(seen.slice(1).every((file) => file.startsWith(`${v2}/`) && !file.includes("/../"))).toBe(true);
      }),
    );
  });

  it("is a number on this machine", () => {
    expect(groupMemoryBytes()).toBeGreaterThan(0);
  });
});

describe("the share of a run", () => {
  afterEach(() => limitMemoryBy(() => Number.POSITIVE_INFINITY));

  it("is three quarters of the smallest limit", () => {
    limitMemoryBy(() => 1000);
    expect(memoryShare()).toBe(750);
  });
});
