/** One comment of ours on a pull request, on GitHub and on GitLab. */
import { afterEach, describe, expect, test } from "vitest";
import { Github } from "../../src/forge/github.ts";
import { gitlabNotes } from "../../src/forge/gitlab.ts";
import { ForgeError } from "../../src/forge/http.ts";
import { keepComment, markOf, type Wanted } from "../../src/forge/sticky.ts";
import { type ForgeServer, forgeServer, workflowBot } from "./server.ts";

const patience = { pauseMilliseconds: 1, answerMilliseconds: 5000 };
const token = "ghs_secret";
let server: ForgeServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(kind: "github" | "gitlab", writer?: string) {
  const started = await forgeServer(kind, writer);
  server = started;
  const comments =
    kind === "github"
      ? new Github({ api: started.url, repository: "octo/models", token, patience }).commentsOf(7)
      : gitlabNotes({ api: started.url, project: "group/models", mergeRequest: "7", token, patience });
  const keep = (wanted: Wanted, name = "models") => keepComment(comments, name, wanted);
  return { started, keep };
}

const news = (body: string): Wanted => ({ kind: "comment", body });
const quiet: Wanted = { kind: "where-there", body: "nothing moved" };
const none: Wanted = { kind: "none" };

describe.each(["github", "gitlab"] as const)("on %s", (kind) => {
  const bot = kind === "github" ? workflowBot : "models-bot";

  test("it is created, changed in place, left where it says the same, and deleted", async () => {
    const { started, keep } = await start(kind);
    expect(await keep(none)).toBe("none");
    expect(await keep(quiet)).toBe("none");
    expect(await keep(news("one"))).toBe("created");
    const [id] = started.comments.map((comment) => comment.id);
    expect(await keep(news("one"))).toBe("unchanged");
    expect(await keep(news("two"))).toBe("updated");
    expect(await keep(quiet)).toBe("updated");
    expect(started.comments).toEqual([{ id, author: bot, body: `${markOf("models")}\nnothing moved` }]);
    expect(await keep(none)).toBe("deleted");
    expect(started.comments).toEqual([]);
  });

  test("it is found on a later page, and of two the newer goes", async () => {
    const { started, keep } = await start(kind);
    for (let index = 0; index < 230; index++)
      started.comments.push({ id: index + 1, body: `comment ${index}`, author: "ada" });
    started.comments.push({ id: 501, body: `${markOf("models")}\none`, author: bot });
    started.comments.push({ id: 502, body: `${markOf("models")}\none`, author: bot });
    expect(await keep(news("two"))).toBe("updated");
    expect(started.comments.filter(({ author }) => author === bot)).toEqual([
      { id: 501, body: `${markOf("models")}\ntwo`, author: bot },
    ]);
  });

  test("what others wrote is theirs, whatever mark they copy", async () => {
    const { started, keep } = await start(kind);
    started.comments.push({ id: 1, body: `${markOf("models")}\nmine`, author: "mallory" });
    started.comments.push({ id: 2, body: `> ${markOf("models")}\n\nquoted`, author: bot });
    expect(await keep(none)).toBe("none");
    expect(await keep(news("one"))).toBe("created");
    expect(started.comments).toHaveLength(3);
    expect(started.comments[0]?.body).toContain("mine");
  });

  test("two jobs have a comment each", async () => {
    const { started, keep } = await start(kind);
    await keep(news("one"), "l4");
    await keep(news("two"), "h200 -->");
    expect(await keep(none, "l4")).toBe("deleted");
    expect(started.comments.map(({ body }) => body)).toEqual([`${markOf("h200 -->")}\ntwo`]);
    expect(markOf("h200 -->").match(/-->/g)).toHaveLength(1);
  });

  test("a server that fails for a while is asked again; a creation only where none was made", async () => {
    const { started, keep } = await start(kind);
    started.fail("GET", [{ status: 502 }, { status: 503 }]);
    started.fail("POST", [{ status: 502, isDone: true }]);
    expect(await keep(news("one"))).toBe("unchanged");
    expect(started.comments).toHaveLength(1);
    started.comments.length = 0;
    started.fail("POST", [{ status: 502 }]);
    expect(await keep(news("one"))).toBe("created");
    expect(started.comments).toHaveLength(1);
  });

  test("a rate limit is waited for where it is short, and named where it is long", async () => {
    const { started, keep } = await start(kind);
    started.fail("POST", [{ status: 429, headers: { "retry-after": "0" } }]);
    expect(await keep(news("one"))).toBe("created");
    started.fail("GET", [
      { status: 403, headers: { "retry-after": "3600" }, body: { message: "secondary rate limit" } },
    ]);
    await expect(keep(news("two"))).rejects.toMatchObject({ failure: "rate-limited" });
  });

  test("a server that stays away, and a token that may not, are named; the token never is", async () => {
    const { started, keep } = await start(kind);
    started.fail("GET", Array(9).fill({ status: 500, body: { message: "oops" } }));
    const away = await keep(news("one")).catch((error: unknown) => error);
    expect(away).toMatchObject({
      failure: "unreachable",
      message: expect.stringMatching(/HTTP 500, oops \(tried 4 times\)/),
    });
    started.fail("GET", []);
    started.fail("POST", [{ status: 403, body: { message: "Resource not accessible by integration" } }]);
    const refused = await keep(news("one")).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(ForgeError);
    expect(refused).toMatchObject({ failure: "forbidden", code: "forge-forbidden" });
    expect(`${away}${refused}`).not.toContain(token);
  });

  test("a list that goes on at another server is not followed there", async () => {
    const { started, keep } = await start(kind);
    started.fail("GET", [
      { status: 200, body: [], headers: { link: '<https://elsewhere.example/x>; rel="next"' } },
    ]);
    await expect(keep(none)).rejects.toMatchObject({ failure: "refused" });
  });

  test("what leads elsewhere is not followed there, with the token or without; what leads on is asked the same", async () => {
    const { started, keep } = await start(kind);
    const elsewhere = await forgeServer(kind);
    try {
      const to = (location: string) => [{ status: 302, headers: { location } }];
      started.fail("GET", to(`${elsewhere.url}/users/sign_in`));
      await expect(keep(news("one"))).rejects.toMatchObject({
        failure: "refused",
        message: expect.stringMatching(/leads to .*\/users\/sign_in, which is not of the API/),
      });
      expect(elsewhere.requests).toEqual([]);
      const place =
        kind === "github" ? "/repos/octo/models/issues/7/comments" : "/projects/1/merge_requests/7/notes";
      started.fail("POST", [{ status: 301, headers: { location: place } }]);
      expect(await keep(news("one"))).toBe("created");
      expect(started.comments).toHaveLength(1);
      started.fail("GET", Array(9).fill({ status: 302, headers: { location: place } }));
      await expect(keep(news("one"))).rejects.toMatchObject({ failure: "refused" });
    } finally {
      await elsewhere.close();
    }
  });

  test("why something is refused is said as far as the forge says it", async () => {
    const { started, keep } = await start(kind);
    const said = async (answer: Parameters<ForgeServer["fail"]>[1][number]) => {
      started.fail("GET", [answer]);
      return String(await keep(news("one")).catch((error: unknown) => error));
    };
    const reason = "Body is too long (maximum is 65536 characters)";
    expect(
      await said({
        status: 422,
        body: { message: "Validation Failed", errors: [{ field: "data", message: reason }] },
      }),
    ).toContain(`HTTP 422, Validation Failed: ${reason}`);
    expect(
      await said({ status: 401, body: { error: "invalid_token", error_description: "Token is expired." } }),
    ).toMatch(/HTTP 401, Token is expired$/);
    expect(
      await said({
        status: 403,
        headers: { "retry-after": "300" },
        body: { message: "secondary rate limit" },
      }),
    ).toMatch(/secondary rate limit; it asks to wait 300 s$/);
  });

  test("a comment that is gone already is deleted", async () => {
    const { started, keep } = await start(kind);
    await keep(news("one"));
    started.fail("DELETE", [{ status: 404, isDone: true }]);
    expect(await keep(none)).toBe("deleted");
  });
});

test("a person's token knows its comments by their author", async () => {
  const { started, keep } = await start("github", "ada");
  started.comments.push({ id: 1, body: `${markOf("models")}\nfaked`, author: workflowBot });
  expect(await keep(news("one"))).toBe("created");
  expect(await keep(none)).toBe("deleted");
  expect(started.comments.map(({ id }) => id)).toEqual([1]);
});

test.each(["gitlab", "", "ftp://gitlab.example/api/v4"])("%j is no API's address, and no bug", (api) => {
  expect(() => new Github({ api, repository: "octo/models", token })).toThrow(ForgeError);
  expect(() => gitlabNotes({ api, project: "1", mergeRequest: "7", token })).toThrow(/expected https:/);
});

test("no server is no answer", async () => {
  const { started, keep } = await start("github");
  await started.close();
  server = undefined;
  await expect(keep(none)).rejects.toMatchObject({
    failure: "unreachable",
    message: expect.stringContaining("ECONNREFUSED"),
  });
});
