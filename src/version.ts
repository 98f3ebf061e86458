/** @file The package's own version and addresses, from their one source. A release fills in whose repository it is. */
import manifest from "../package.json" with { type: "json" };

export const version: string = manifest.version;

export const homepage: string = manifest.homepage;

/** A rule's page, as it is in this version. */
export function pageOf(code: string): string {
  const repository = manifest.repository.url.replace(/^git\+/, "").replace(/\.git$/, "");
  return `${repository}/blob/v${version}/docs/rules/${code}.md`;
}
