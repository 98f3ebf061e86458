/** A merge request on GitLab: the code quality report, and the one note, by the commands of docs/ci.md. */
import { mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { run } from "../cli/run.ts";
import { type BuiltCli, buildCli } from "../cli-process.ts";
import { type ForgeServer, forgeServer } from "../forge/server.ts";
import { runPipeline } from "./pipeline.ts";
import { detectors, Team } from "./team.ts";

let cli: BuiltCli;
let team: Team;
let server: ForgeServer;
beforeAll(() => {
  cli = buildCli();
});
afterAll(() => cli?.[Symbol.dispose]());
beforeEach(async () => {
  team = new Team();
  server = await forgeServer("gitlab");
  return async () => {
    team[Symbol.dispose]();
    await server.close();
  };
});

const pipeline = (base: string, env: Readonly<Record<string, string>> = {}) =>
  runPipeline({ cli, team, api: server.url, branch: "wider", base, env });

const change = (detector: Uint8Array) =>
  team.commit("wider", 7, () => team.write("models/detector.onnx", detector));

test("the note is begun, brought up to date, folded, and taken away; its project is the merge request's", async () => {
  const base = team.main();
  change(detectors.misaligned);
  const first = await pipeline(base);
  expect([first.exitCode, first.stderr]).toEqual([1, "tc-lint: merge request !7: noted\n"]);
  expect(first.stdout).toContain("new error  TC101");
  expect(server.requests.at(-1)).toBe("POST /projects/42/merge_requests/7/notes");
  expect(server.lastHeaders()["private-token"]).toBe("glpat-secret");
  const [note] = server.comments;
  expect(note?.body).toMatch(/^<!-- tc-lint comment: tc-lint: \[h200\] -->\n\*\*.*1 slower/);
  expect(note?.body).toContain("(https://gitlab.example/group/models/-/pipelines/1)");

  change(detectors.further);
  expect((await pipeline(base)).stderr).toContain("!7: the note is brought up to date");
  expect(server.comments.map(({ id }) => id)).toEqual([note?.id]);
  change(detectors.anew);
  expect([(await pipeline(base)).exitCode, server.comments[0]?.body.split("\n")[1]]).toEqual([
    0,
    "<details><summary>tc-lint: nothing moved beyond its interval</summary>",
  ]);
  change(detectors.aligned);
  expect((await pipeline(base)).stderr).toContain("!7: the note is taken away");
  expect(server.comments).toEqual([]);
});

test("a fork's pipeline has no token and needs none; one of no merge request has nothing to note", async () => {
  const base = team.main();
  change(detectors.misaligned);
  const fork = await pipeline(base, { GITLAB_TOKEN: "" });
  expect([fork.exitCode, fork.stderr]).toEqual([1, expect.stringContaining("GITLAB_TOKEN is not set")]);
  const branch = await pipeline(base, { CI_MERGE_REQUEST_IID: "" });
  expect([branch.exitCode, branch.stderr]).toEqual([
    1,
    expect.stringContaining("CI_MERGE_REQUEST_IID is not set"),
  ]);
  expect(server.requests).toEqual([]);
});

test("what GitLab refuses is said, without the token, and changes no exit code", async () => {
  const base = team.main();
  change(detectors.misaligned);
  server.fail("POST", [{ status: 401, body: { message: "401 Unauthorized" } }]);
  const { exitCode, stderr } = await pipeline(base);
  expect([exitCode, stderr]).toEqual([
    1,
    expect.stringMatching(/HTTP 401, 401 Unauthorized; GITLAB_TOKEN needs the scope api/),
  ]);
  expect(stderr).not.toContain("glpat-secret");
});

test("another forge is refused before any work", async () => {
  const { exitCode, stderr } = await run(cli, ["compare", "--base", "main", "--post", "sourcehut"], {
    cwd: team.clone,
  });
  expect([exitCode, stderr]).toEqual([2, expect.stringContaining('--post: found "sourcehut"')]);
});

test("the code quality report has the line of Python, known again wherever the model lies", async () => {
  change(detectors.misaligned);
  const cwd = team.checkout("wider");
  mkdirSync(path.join(cwd, "out"));
  const flags = ["--source-root", "src", "--exit-zero", "-f", "gitlab=out/quality.json"];
  expect((await run(cli, ["models/detector.onnx", ...flags], { cwd })).exitCode).toBe(0);
  const issues: readonly Issue[] = JSON.parse(readFileSync(path.join(cwd, "out/quality.json"), "utf8"));
  expect(issues.find(({ check_name: name }) => name.startsWith("TC101"))).toMatchObject({
    severity: "major",
    location: { path: "src/models/backbones.py", lines: { begin: 19 } },
  });
});

interface Issue {
  readonly check_name: string;
}
