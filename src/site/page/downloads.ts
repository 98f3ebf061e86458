/** @file What the reader may keep: addresses of Blobs, given back when others take their place. */

export class Addresses {
  #made: string[] = [];

  of(content: Blob): string {
    const address = URL.createObjectURL(content);
    this.#made.push(address);
    return address;
  }

  clear(): void {
    for (const address of this.#made) URL.revokeObjectURL(address);
    this.#made = [];
  }
}

export function offer(link: HTMLAnchorElement, address: string, name: string): void {
  link.href = address;
  link.download = name;
}
