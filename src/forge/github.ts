/** @file GitHub's REST API: a pull request, and its comments. */
import { Forge, type ForgeAddress, ForgeError } from "./http.ts";
import { fieldsOf, idOf, textOf } from "./reply.ts";
import type { Comment, Comments } from "./sticky.ts";

export interface GithubAccess extends Pick<ForgeAddress, "patience"> {
  /** GITHUB_API_URL. */
  readonly api: string;
  /** `owner/name`. */
  readonly repository: string;
  readonly token: string;
}

/** What tells whose pull request it is. */
export interface PullRequest {
  readonly state: string;
  readonly headSha: string;
  readonly headRef: string;
  /** Empty where the fork is gone. */
  readonly headRepository: string;
}

export class Github {
  readonly #forge: Forge;
  readonly #repository: string;

  constructor({ api, repository, token, patience }: GithubAccess) {
    const headers = {
      accept: "application/vnd.github+json",
      authorization: `Bearer ${token}`,
      "user-agent": "tc-lint",
      "x-github-api-version": "2022-11-28",
    };
    this.#forge = new Forge({ api: api.replace(/\/+$/, ""), headers, ...(patience && { patience }) });
    this.#repository = `/repos/${repository}`;
  }

  async pullRequest(number: number): Promise<PullRequest> {
    const reply = fieldsOf(await this.#forge.ask("GET", `${this.#repository}/pulls/${number}`));
    const head = fieldsOf(reply["head"]);
    return {
      state: textOf(reply, "state"),
      headSha: textOf(head, "sha"),
      headRef: textOf(head, "ref"),
      headRepository: textOf(fieldsOf(head["repo"]), "full_name"),
    };
  }

  /** Those below its description, not those at lines: GitHub has them as an issue's. */
  commentsOf(number: number): Comments {
    const [forge, repository] = [this.#forge, this.#repository];
    return {
      async *list() {
        for await (const entry of forge.entries(`${repository}/issues/${number}/comments?per_page=100`))
          yield commentOf(entry);
      },
      writer: () => this.#writer(),
      create: async (body) => {
        await forge.ask("POST", `${repository}/issues/${number}/comments`, { body });
      },
      update: async (id, body) => {
        await forge.ask("PATCH", `${repository}/issues/comments/${id}`, { body });
      },
      remove: async (id) => {
        await forge.ask("DELETE", `${repository}/issues/comments/${id}`);
      },
    };
  }

  /** Tokens of workflows and apps have no user. */
  async #writer(): Promise<string | undefined> {
    try {
      return textOf(fieldsOf(await this.#forge.ask("GET", "/user")), "login") || undefined;
    } catch (error) {
      if (error instanceof ForgeError && error.failure === "forbidden") return undefined;
      throw error;
    }
  }
}

function commentOf(entry: unknown): Comment {
  const fields = fieldsOf(entry);
  const user = fieldsOf(fields["user"]);
  return {
    id: idOf(fields),
    body: textOf(fields, "body"),
    author: { login: textOf(user, "login"), isBot: textOf(user, "type") === "Bot" },
  };
}
