/** Every stack has its checks of real exports: a file each, so that they run at once. */
import { readdirSync } from "node:fs";
import { expect, it } from "vitest";
import { stackIds } from "../../src/hardware/stacks.ts";

it.each(stackIds)("%s has a file", (stack) => {
  expect(readdirSync(import.meta.dirname)).toContain(`zoo-${stack}.test.ts`);
});
