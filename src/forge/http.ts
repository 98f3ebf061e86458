/** @file Requests to a forge's REST API: page by page, tried again where that helps, with errors that name what was asked. */
import { InputError } from "../ir/errors.ts";
import { printable } from "../ir/format.ts";

export interface ForgeAddress {
  /** Without a slash at its end. */
  readonly api: string;
  /** Among them whoever asks: no message names these. */
  readonly headers: Readonly<Record<string, string>>;
  /** Waits between tries, and for one answer at most; tests are more impatient. */
  readonly patience?: { readonly pauseMilliseconds: number; readonly answerMilliseconds: number };
}

export type Method = "GET" | "POST" | "PATCH" | "PUT" | "DELETE";

/**
 * `unreachable`: no answer, or none but failures of the server's; `forbidden`: the token may not; `not-found`; `rate-limited`;
 * `refused`: anything else.
 */
export type ForgeFailure = "unreachable" | "forbidden" | "not-found" | "rate-limited" | "refused";

export class ForgeError extends InputError {
  readonly failure: ForgeFailure;

  constructor(failure: ForgeFailure, message: string, options?: ErrorOptions) {
    super(`forge-${failure}`, message, options);
    this.failure = failure;
  }
}

interface Reply {
  readonly value: unknown;
  readonly headers: Headers;
}

const mostTries = 4;
const standardPatience = { pauseMilliseconds: 1000, answerMilliseconds: 30_000 } as const;
/** Whoever is to wait longer is told so instead. */
const longestPauseSeconds = 60;
/** Of a hundred entries each. */
const mostPages = 100;
const mostRedirects = 3;

export class Forge {
  readonly #address: ForgeAddress;

  /** Throws ForgeError where `api` is no address. */
  constructor(address: ForgeAddress) {
    if (!URL.canParse(address.api) || !/^https?:/i.test(address.api))
      throw new ForgeError(
        "unreachable",
        `the API's address is "${printable(address.api)}", expected https://…`,
      );
    this.#address = address;
  }

  /** What it answers, parsed; undefined where it says nothing. Throws ForgeError. */
  async ask(method: Method, path: string, body?: unknown): Promise<unknown> {
    return (await this.#request(method, `${this.#address.api}${path}`, body)).value;
  }

  /** Entries of a list, of all its pages. */
  async *entries(path: string): AsyncGenerator<unknown> {
    let next: string | undefined = `${this.#address.api}${path}`;
    for (let page = 0; next !== undefined && page < mostPages; page++) {
      const { value, headers } = await this.#request("GET", next);
      if (!Array.isArray(value)) throw new ForgeError("refused", `GET ${shown(next)}: answers with no list`);
      yield* value;
      next = this.#nextOf(headers);
    }
  }

  /** A link elsewhere would take the token there. */
  #nextOf(headers: Headers): string | undefined {
    const next = /<([^>]+)>\s*;[^,]*\brel="?next"?/.exec(headers.get("link") ?? "")?.[1];
    if (next === undefined) return undefined;
    const address = new URL(next, `${this.#address.api}/`);
    if (address.origin === new URL(this.#address.api).origin) return address.href;
    throw new ForgeError("refused", `the list's next page is at ${address.origin}, another server`);
  }

  async #request(method: Method, url: string, body?: unknown): Promise<Reply> {
    const what = `${method} ${shown(url)}`;
    const { pauseMilliseconds } = this.#address.patience ?? standardPatience;
    for (let attempt = 1; ; attempt++) {
      const outcome = await this.#once(method, url, body);
      if (!("again" in outcome)) return outcome;
      const { again, failure, said } = outcome;
      const isLast = attempt === mostTries || again === "never";
      const seconds = typeof again === "number" ? again : (2 ** (attempt - 1) * pauseMilliseconds) / 1000;
      if (isLast || seconds > longestPauseSeconds) {
        const tried = attempt > 1 ? ` (tried ${attempt} times)` : "";
        const pause = typeof again === "number" ? `; it asks to wait ${Math.ceil(again)} s` : "";
        throw new ForgeError(failure, `${what}: ${said}${pause}${tried}`);
      }
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    }
  }

  async #once(method: Method, url: string, body: unknown, redirects = 0): Promise<Reply | Setback> {
    const { headers, patience = standardPatience } = this.#address;
    const json = body === undefined ? {} : { "content-type": "application/json" };
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, {
        method,
        headers: { ...headers, ...json },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        redirect: "manual",
        signal: AbortSignal.timeout(patience.answerMilliseconds),
      });
      text = await response.text();
    } catch (error) {
      return { again: retryOf(method), failure: "unreachable", said: reasonOf(error) };
    }
    const next = response.headers.get("location");
    if (next !== null && response.status >= 300 && response.status < 400)
      return this.#redirected(method, new URL(next, url), body, redirects);
    if (!response.ok) return setbackOf(method, response, text);
    return { value: parsed(text), headers: response.headers };
  }

  /** What a forge calls otherwise now, asked the same there: fetch itself makes a GET of a POST, and takes a token of GitLab's anywhere. */
  #redirected(
    method: Method,
    { href, host, pathname }: URL,
    body: unknown,
    redirects: number,
  ): Promise<Reply | Setback> | Setback {
    if (href.startsWith(`${this.#address.api}/`) && redirects < mostRedirects)
      return this.#once(method, href, body, redirects + 1);
    const said = `leads to ${host}${pathname}, which is not of the API`;
    return { again: "never", failure: "refused", said };
  }
}

/** Why an answer is none, and whether to ask again: at once, after so many seconds, never. */
interface Setback {
  readonly again: "soon" | "never" | number;
  readonly failure: ForgeFailure;
  readonly said: string;
}

/** A POST without an answer may have been done: whoever asked looks first. */
function retryOf(method: Method): Setback["again"] {
  return method === "POST" ? "never" : "soon";
}

function setbackOf(method: Method, { status, headers }: Response, text: string): Setback {
  const said = `HTTP ${status}${messageIn(text)}`;
  if (status === 429 || (status === 403 && isRateLimit(headers, text)))
    return { again: pauseOf(headers) ?? "soon", failure: "rate-limited", said };
  if (status >= 500) return { again: retryOf(method), failure: "unreachable", said };
  const failures: Readonly<Record<number, ForgeFailure>> = {
    401: "forbidden",
    403: "forbidden",
    404: "not-found",
  };
  return { again: "never", failure: failures[status] ?? "refused", said };
}

function isRateLimit(headers: Headers, text: string): boolean {
  return (
    headers.has("retry-after") ||
    headers.get("x-ratelimit-remaining") === "0" ||
    /secondary rate limit/i.test(text)
  );
}

/** Seconds that the server asks for. */
function pauseOf(headers: Headers): number | undefined {
  const after = headers.get("retry-after");
  if (after !== null && /^\d+$/.test(after)) return Number(after);
  const reset = headers.get("x-ratelimit-reset");
  if (headers.get("x-ratelimit-remaining") !== "0" || reset === null || !/^\d+$/.test(reset))
    return undefined;
  return Math.max(0, Number(reset) - Date.now() / 1000);
}

const mostSaidCharacters = 200;

/** What a forge says of a failure: a message, or a reason. */
function messageIn(text: string): string {
  const value = parsed(text);
  if (typeof value !== "object" || value === null) return "";
  const {
    message,
    error,
    error_description: description,
    errors,
  } = value as Readonly<Record<string, unknown>>;
  const said = [message || description || error, ...(Array.isArray(errors) ? errors.map(reasonIn) : [])]
    .filter(Boolean)
    .map((part) => (typeof part === "string" ? part.replace(/\.$/, "") : JSON.stringify(part)));
  return said.length === 0 ? "" : `, ${said.join(": ").slice(0, mostSaidCharacters)}`;
}

/** GitHub's 422 says why in a list. */
function reasonIn(entry: unknown): unknown {
  return typeof entry === "object" && entry !== null && "message" in entry ? entry.message : entry;
}

function parsed(text: string): unknown {
  if (text === "") return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    // A proxy's page: nothing to be read of it.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error) return "code" in cause ? String(cause.code) : cause.message;
  return error.name === "TimeoutError" ? "no answer in time" : error.message;
}

/** A path says enough; addresses may have a user in them. */
function shown(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}
