/** @file A child process that runs one of the fake driver's kernels, or asks for memory. */
import { serveTask } from "../../cuda-runtime/session/child.ts";
import { openDevice } from "../../cuda-runtime/session/open.ts";
import { DeviceSession } from "../../cuda-runtime/session/session.ts";
import { KernelStore } from "../../cuda-runtime/session/store.ts";
import { add, built, count, planOf, view } from "./fake-plan.ts";

export interface FakeTask {
  readonly entry: string;
  readonly kernels: string;
  readonly bytes: number;
  /** Memory of the host that it holds. */
  readonly hostBytes: number;
}

serveTask(async ({ entry, kernels, bytes, hostBytes }: FakeTask, onProgress) => {
  onProgress("opening the device");
  using context = await openDevice();
  using store = new KernelStore(context, { kernels: new URL(kernels), cache: null });
  const [a, b] = [view(10, "temporary"), view(11, "temporary")];
  using session = DeviceSession.load(context, store, planOf(add(a, a, b, built(entry))));
  using _memory = context.allocate(bytes);
  onProgress(`running ${entry}`);
  const held = Buffer.alloc(hostBytes, 1);
  const outputs = session.run(new Map([["x", new Uint8Array(4 * count)]]));
  return { outputs, held: held.length };
});
