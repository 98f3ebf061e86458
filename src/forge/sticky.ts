/** @file One comment of ours on a pull request: found again by a mark, changed in place, taken away when there is nothing to say. */
import { ForgeError } from "./http.ts";

export interface Comment {
  readonly id: number;
  readonly body: string;
  readonly author: Author;
}

export interface Author {
  readonly login: string;
  /** A program's account, which nobody can write as from outside. */
  readonly isBot: boolean;
}

/** Comments of one pull request. */
export interface Comments {
  /** The oldest first. */
  list(): AsyncIterable<Comment>;
  /** Whom the token writes as; undefined where the forge does not tell, as of a workflow's own token. */
  writer(): Promise<string | undefined>;
  create(body: string): Promise<void>;
  update(id: number, body: string): Promise<void>;
  remove(id: number): Promise<void>;
}

/** What the comment is to be: `where-there` changes one that is there, and begins none. */
export type Wanted =
  | { readonly kind: "comment" | "where-there"; readonly body: string }
  | { readonly kind: "none" };

export type Done = "created" | "updated" | "unchanged" | "deleted" | "none";

/** Invisible where Markdown is shown. `name` tells the comments of several runs on one pull request apart; it ends no mark. */
export function markOf(name: string): string {
  const plain = name.replaceAll(/[^\w.+/:,=()[\] -]/g, "_").replaceAll("--", "__");
  return `<!-- tc-lint comment: ${plain} -->`;
}

const mostCreations = 3;

/** Leaves one comment as wanted, or none. Throws ForgeError. */
export async function keepComment(comments: Comments, name: string, wanted: Wanted): Promise<Done> {
  const mark = markOf(name);
  for (let attempt = 1; ; attempt++) {
    try {
      return await keepOnce(comments, mark, wanted);
    } catch (error) {
      // A creation that was not answered may have been done: looked for, before another is begun.
      if (!(error instanceof CreationError) || attempt === mostCreations) throw errorOf(error);
    }
  }
}

async function keepOnce(comments: Comments, mark: string, wanted: Wanted): Promise<Done> {
  const [kept, ...more] = await ours(comments, mark);
  // Two runs at once may both have begun one.
  for (const { id } of more) await removed(comments, id);
  if (wanted.kind === "none") {
    if (kept === undefined) return "none";
    await removed(comments, kept.id);
    return "deleted";
  }
  const body = `${mark}\n${wanted.body}`;
  if (kept === undefined) {
    if (wanted.kind === "where-there") return "none";
    await created(comments, body);
    return "created";
  }
  if (kept.body.replaceAll("\r\n", "\n").trim() === body.trim()) return "unchanged";
  await comments.update(kept.id, body);
  return "updated";
}

/** Anybody may copy the mark: it counts at the beginning of what the token's own user wrote. */
async function ours(comments: Comments, mark: string): Promise<Comment[]> {
  const marked: Comment[] = [];
  for await (const comment of comments.list()) if (comment.body.startsWith(mark)) marked.push(comment);
  if (marked.length === 0) return [];
  const writer = await comments.writer();
  return marked.filter(({ author }) => (writer === undefined ? author.isBot : author.login === writer));
}

async function removed(comments: Comments, id: number): Promise<void> {
  try {
    await comments.remove(id);
  } catch (error) {
    // Another run was faster.
    if (!(error instanceof ForgeError && error.failure === "not-found")) throw error;
  }
}

class CreationError extends Error {}

async function created(comments: Comments, body: string): Promise<void> {
  try {
    await comments.create(body);
  } catch (error) {
    if (!(error instanceof ForgeError && error.failure === "unreachable")) throw error;
    throw new CreationError("no answer to a creation", { cause: error });
  }
}

function errorOf(error: unknown): unknown {
  return error instanceof CreationError ? error.cause : error;
}
