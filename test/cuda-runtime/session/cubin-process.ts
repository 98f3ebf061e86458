/** @file One of several processes over one cache: FOLDER SEED. Prints how much it found, and how much of that was wrong. */
import { createHash } from "node:crypto";
import { CubinCache } from "../../../cuda-runtime/session/cubin-cache.ts";

const [folder = "", seed = "0"] = process.argv.slice(2);
const size = 20_000;
// A third of what is written fits: they remove each other's entries all the time.
const cache = new CubinCache(folder, 10 * size);
let [wrong, found] = [0, 0];
for (let turn = 0; turn < 300; turn++) {
  const name = `entry ${(turn * 7 + Number(seed) * 11) % 30}`;
  const key = createHash("sha256").update(name).digest();
  const content = Buffer.alloc(size, name);
  const kept = cache.read(key);
  if (kept === undefined) cache.write(key, content);
  else {
    found += 1;
    if (!kept.equals(content)) wrong += 1;
  }
}
console.log(JSON.stringify({ wrong, found, problem: cache.problem }));
