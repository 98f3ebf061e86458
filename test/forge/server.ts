/** @file A forge of one pull request on this machine: its comments, as the documentation of GitHub's and GitLab's REST API has them. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface StoredComment {
  readonly id: number;
  body: string;
  readonly author: string;
}

export interface Answer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface ForgeServer {
  readonly url: string;
  readonly comments: StoredComment[];
  /** `POST /repos/o/r/issues/7/comments`, in order. */
  readonly requests: string[];
  /** Headers of the last request. */
  readonly lastHeaders: () => IncomingMessage["headers"];
  /** Answers the next requests of a method, instead of what they ask for; a creation is made all the same where `isDone`. */
  fail(method: string, answers: readonly (Answer & { readonly isDone?: boolean })[]): void;
  /** What `GET /repos/o/r/pulls/7` says. */
  pullRequest: unknown;
  close(): Promise<void>;
}

interface Api {
  readonly list: RegExp;
  readonly one: RegExp;
  readonly pull: RegExp;
  readonly show: (comment: StoredComment) => unknown;
  readonly user: (author: string) => Answer;
  readonly update: string;
}

export const workflowBot = "github-actions[bot]";

/** A token of a workflow has no user, which GitHub says with 403. */
const github: Api = {
  list: /^\/repos\/octo\/models\/issues\/\d+\/comments$/,
  one: /^\/repos\/octo\/models\/issues\/comments\/(\d+)$/,
  pull: /^\/repos\/octo\/models\/pulls\/(\d+)$/,
  update: "PATCH",
  show: ({ id, body, author }) => ({
    id,
    node_id: `IC_${id}`,
    body,
    user: { login: author, id: 1, type: author.endsWith("[bot]") ? "Bot" : "User", site_admin: false },
    author_association: "NONE",
    performed_via_github_app: null,
  }),
  user: (author) =>
    author === workflowBot
      ? { status: 403, body: { message: "Resource not accessible by integration", status: "403" } }
      : { status: 200, body: { login: author, type: "User" } },
};

const gitlab: Api = {
  list: /^\/projects\/[^/]+\/merge_requests\/\d+\/notes$/,
  one: /^\/projects\/[^/]+\/merge_requests\/\d+\/notes\/(\d+)$/,
  pull: /^$/,
  update: "PUT",
  show: ({ id, body, author }) => ({
    id,
    body,
    system: author === "",
    noteable_type: "MergeRequest",
    author: { id: 1, username: author, name: author, state: "active" },
  }),
  user: (author) => ({ status: 200, body: { id: 1, username: author } }),
};

/** `writer`: whom the token is of. */
export async function forgeServer(
  kind: "github" | "gitlab",
  writer = kind === "github" ? workflowBot : "models-bot",
): Promise<ForgeServer> {
  const api = kind === "github" ? github : gitlab;
  const failures = new Map<string, (Answer & { readonly isDone?: boolean })[]>();
  const comments: StoredComment[] = [];
  const requests: string[] = [];
  let headers: IncomingMessage["headers"] = {};
  let lastId = 1000;

  const act = (method: string, url: URL, body: { body?: string }): Answer => {
    const id = Number(api.one.exec(url.pathname)?.[1]);
    const comment = comments.find((each) => each.id === id);
    if (url.pathname === "/user") return api.user(writer);
    if (method === "GET" && api.pull.test(url.pathname)) return { status: 200, body: server.pullRequest };
    if (method === "GET" && api.list.test(url.pathname)) return page(url);
    if (method === "POST" && api.list.test(url.pathname)) {
      lastId += 1;
      comments.push({ id: lastId, body: body.body ?? "", author: writer });
      return { status: 201, body: { id: lastId } };
    }
    if (comment === undefined) return { status: 404, body: { message: "Not Found" } };
    if (method === api.update) comment.body = body.body ?? "";
    else if (method === "DELETE") comments.splice(comments.indexOf(comment), 1);
    else return { status: 405 };
    return method === "DELETE" ? { status: 204 } : { status: 200, body: api.show(comment) };
  };

  const page = (url: URL): Answer => {
    const size = Number(url.searchParams.get("per_page") ?? 30);
    const number = Number(url.searchParams.get("page") ?? 1);
    const shown = comments.slice((number - 1) * size, number * size).map(api.show);
    if (number * size >= comments.length) return { status: 200, body: shown };
    const next = new URL(url);
    next.searchParams.set("page", String(number + 1));
    return { status: 200, body: shown, headers: { link: `<${next}>; rel="next", <${url}>; rel="first"` } };
  };

  const listener = createServer((request: IncomingMessage, response: ServerResponse) => {
    let text = "";
    request.on("data", (piece) => {
      text += String(piece);
    });
    request.on("end", () => {
      const { method = "" } = request;
      const url = new URL(request.url ?? "/", server.url);
      requests.push(`${method} ${url.pathname}`);
      headers = request.headers;
      const failure = failures.get(method)?.shift();
      const done =
        failure === undefined || failure.isDone
          ? act(method, url, text === "" ? {} : JSON.parse(text))
          : failure;
      const { status, body, headers: more = {} } = failure ?? done;
      response.writeHead(status, { "content-type": "application/json", ...more });
      response.end(body === undefined ? "" : JSON.stringify(body));
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const server: ForgeServer = {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    comments,
    requests,
    lastHeaders: () => headers,
    fail: (method, answers) => failures.set(method, [...answers]),
    pullRequest: {},
    close: () => new Promise((resolve) => listener.close(() => resolve())),
  };
  return server;
}
