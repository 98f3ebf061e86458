/** The bytes are not what they claim to be, or cannot be read. `code` is stable and kebab-case. */
export class WireError extends Error {
  override readonly name = "WireError";
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
