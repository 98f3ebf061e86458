/**
 * @file Damages models at random until time is up: node scripts/run.mjs scripts/fuzz-read.ts [seconds] [seed].
 *
 * Stops at the first exception that is no InputError, or at a lint of more than ten seconds, and keeps the bytes.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { smallModel } from "../test/onnx/bad-inputs/bytes.ts";
import { mutate, type Outcome, randomNumbers, survive } from "../test/onnx/fuzz.ts";
import { rewire } from "../test/onnx/rewire.ts";

const [seconds = "60", seed = String(Date.now() % 2 ** 31)] = process.argv.slice(2);
const maxSeconds = 10;
// Scripts run bundled: what lies around the checkout is found from where npm starts them.
const zoo = path.join("..", "shared", "zoo");
const models = [smallModel(), ...(existsSync(zoo) ? readZoo(zoo) : [])];
const random = randomNumbers(Number(seed));
const codes = new Map<string, number>();
const end = performance.now() + 1000 * Number(seconds);
let [rounds, slowest] = [0, 0];

while (performance.now() < end) {
  const model = models[Math.floor(random() * models.length)] ?? smallModel();
  const damaged = random() < 0.5 ? mutate(model, random) : rewire(model, random);
  const outcome = await attempt(damaged);
  rounds += 1;
  slowest = Math.max(slowest, outcome.seconds);
  codes.set(outcome.code, (codes.get(outcome.code) ?? 0) + 1);
  if (outcome.seconds > maxSeconds) fail(damaged, new Error(`took ${outcome.seconds.toFixed(1)} s`));
}
console.log(
  `seed ${seed}: ${rounds} damaged copies of ${models.length} models, the slowest ${slowest.toFixed(2)} s`,
);
console.log(
  [...codes]
    .sort((a, b) => b[1] - a[1])
    .map(([code, count]) => `${count} ${code}`)
    .join(", "),
);

async function attempt(damaged: Uint8Array): Promise<Outcome> {
  try {
    return await survive(damaged);
  } catch (error) {
    return fail(damaged, error);
  }
}

function fail(damaged: Uint8Array, error: unknown): never {
  mkdirSync("out", { recursive: true });
  const file = path.join("out", `fuzz-${seed}-${rounds}.onnx`);
  writeFileSync(file, damaged);
  console.error(`seed ${seed}, round ${rounds}: kept as ${file}`);
  throw error;
}

function readZoo(folder: string): Uint8Array[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(".onnx"));
  return names.map((name) => readFileSync(path.join(folder, name)));
}
