/** @file The package's own version and addresses, from their one source. A release fills in whose repository it is. */
import manifest from "../package.json" with { type: "json" };

export const version: string = manifest.version;

export const homepage: string = manifest.homepage;

const repository = manifest.repository.url.replace(/^git\+/, "").replace(/\.git$/, "");

/** Nothing is ever there (RFC 2606): no release has filled in its own. */
const isPlaceholder = repository.startsWith("https://example.com/");

/** The schema of configurations, as it is in this version; for editors. Undefined where no release has put it anywhere. */
export const schemaPage: string | undefined = isPlaceholder
  ? undefined
  : `${repository}/raw/v${version}/schemas/config.schema.json`;

/** `owner/name` of the repository with this version built, for hooks and the Action; undefined where a release filled in none. */
export const builtRepository: string | undefined = manifest.builtRepository || undefined;

/** A rule's page, as it is in this version. */
export function pageOf(code: string): string {
  return `${repository}/blob/v${version}/docs/rules/${code}.md`;
}
