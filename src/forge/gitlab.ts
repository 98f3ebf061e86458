/** @file GitLab's REST API: the notes of a merge request. */
import { Forge, type ForgeAddress, ForgeError } from "./http.ts";
import { fieldsOf, idOf, textOf } from "./reply.ts";
import type { Comment, Comments } from "./sticky.ts";

export interface GitlabAccess extends Pick<ForgeAddress, "patience"> {
  /** CI_API_V4_URL. */
  readonly api: string;
  /** A number, or a path. */
  readonly project: string;
  /** The merge request's number in its project. */
  readonly mergeRequest: string;
  readonly token: string;
}

export function gitlabNotes({ api, project, mergeRequest, token, patience }: GitlabAccess): Comments {
  const headers = { "private-token": token, "user-agent": "tc-lint" };
  const forge = new Forge({ api: api.replace(/\/+$/, ""), headers, ...(patience && { patience }) });
  const request = `/projects/${encodeURIComponent(project)}/merge_requests/${encodeURIComponent(mergeRequest)}`;
  const notes = `${request}/notes`;
  return {
    async *list() {
      for await (const entry of forge.entries(`${notes}?per_page=100&order_by=created_at&sort=asc`)) {
        const fields = fieldsOf(entry);
        // What GitLab itself notes: a push, a change of the title.
        if (fields["system"] !== true) yield noteOf(entry);
      }
    },
    async writer() {
      const login = textOf(fieldsOf(await forge.ask("GET", "/user")), "username");
      if (login === "") throw new ForgeError("refused", "GET /user: GitLab does not say whose the token is");
      return login;
    },
    create: async (body) => {
      await forge.ask("POST", notes, { body });
    },
    update: async (id, body) => {
      await forge.ask("PUT", `${notes}/${id}`, { body });
    },
    remove: async (id) => {
      await forge.ask("DELETE", `${notes}/${id}`);
    },
  };
}

function noteOf(entry: unknown): Comment {
  const fields = fieldsOf(entry);
  const author = fieldsOf(fields["author"]);
  return {
    id: idOf(fields),
    body: textOf(fields, "body"),
    author: { login: textOf(author, "username"), isBot: false },
  };
}
