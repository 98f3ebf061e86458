/**
 * @file A team's repository, made by a script: a remote without a work tree, five exports on its main branch, pull requests with the
 * merges that GitHub makes of them, and checkouts as actions/checkout has them.
 */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { commitAll, git } from "../cli/repository.ts";
import { resized, zooModel } from "./models.ts";

/** The detector as it should be, as a change misaligns it, and further off. */
export const detectors = {
  aligned: resized("misaligned_cnn_dynamo", { 67: 72, 129: 136, 251: 256 }),
  misaligned: resized("misaligned_cnn_dynamo", { 251: 256 }),
  further: resized("misaligned_cnn_dynamo", { 67: 77, 129: 141, 251: 256 }),
  /** Another file of the same network. */
  anew: resized("misaligned_cnn_dynamo", { 67: 72, 129: 136, 251: 256 }, "another exporter"),
} as const;

export const segmenters = {
  misaligned: zooModel("seg_unet_dynamo"),
  aligned: resized("seg_unet_dynamo", { 30: 32, 60: 64, 120: 128 }),
} as const;

export class Team implements Disposable {
  readonly folder = realpathSync(mkdtempSync(path.join(tmpdir(), "tc-lint-team-")));
  readonly remote = path.join(this.folder, "models.git");
  /** A member's clone. */
  readonly clone = path.join(this.folder, "clone");
  #checkouts = 0;

  constructor() {
    git(this.folder, "init", "-q", "--bare", this.remote);
    // As GitHub and GitLab: any commit can be asked for.
    git(this.remote, "config", "uploadpack.allowAnySHA1InWant", "true");
    git(this.folder, "clone", "-q", this.remote, this.clone);
    git(this.clone, "checkout", "-q", "-B", "main");
    this.write("models/detector.onnx", detectors.aligned);
    this.write("models/segmenter.onnx", segmenters.misaligned);
    for (const name of ["llama_dynamo", "tcn_dynamo", "squeezenet"])
      this.write(`models/${name}.onnx`, zooModel(name));
    this.write("src/models/backbones.py", "# the team's networks\n".repeat(200));
    // A stack where both pay as they are stored: what `--fix` alone makes is what the hook fails on.
    this.write("tc-lint.config.json", '{ "gpu": "h200", "stack": "ort-cuda-nhwc" }\n');
    this.#push("main");
  }

  write(name: string, content: string | Uint8Array): void {
    const file = path.join(this.clone, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
  }

  /** All that is there, committed and pushed; the commit. */
  #push(branch: string): string {
    commitAll(this.clone);
    git(this.clone, "push", "-q", "--force", "origin", `HEAD:refs/heads/${branch}`);
    return git(this.clone, "rev-parse", "HEAD");
  }

  main(): string {
    return git(this.remote, "rev-parse", "main");
  }

  /** A commit on main by somebody else. */
  commitToMain(change: () => void): string {
    git(this.clone, "checkout", "-q", "main");
    change();
    return this.#push("main");
  }

  /** A commit on a branch, begun from main where it is new; with the merge of GitHub's that a run checks out. */
  commit(branch: string, number: number, change: () => void) {
    const known = git(this.clone, "branch", "--list", branch) !== "";
    git(this.clone, "checkout", "-q", ...(known ? [branch] : ["-b", branch, "main"]));
    change();
    const sha = this.#push(branch);
    git(this.clone, "checkout", "-q", "--detach", "main");
    git(this.clone, "merge", "-q", "--no-ff", "-m", "merge", branch);
    git(this.clone, "push", "-q", "--force", "origin", `HEAD:refs/pull/${number}/merge`);
    return { sha, ref: branch };
  }

  /** One commit deep, as actions/checkout leaves it by default. */
  checkout(ref: string): string {
    this.#checkouts += 1;
    const folder = path.join(this.folder, `checkout-${this.#checkouts}`);
    mkdirSync(folder);
    git(folder, "init", "-q");
    git(folder, "remote", "add", "origin", `file://${this.remote}`);
    git(folder, "fetch", "-q", "--no-tags", "--depth=1", "origin", ref);
    git(folder, "checkout", "-q", "--detach", "FETCH_HEAD");
    return folder;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}
