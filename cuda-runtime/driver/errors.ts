/** @file What goes wrong on the GPU. */

/** A call of the driver that did not succeed. */
export class CudaError extends Error {
  override readonly name = "CudaError";
  /** CUresult. */
  readonly code: number;
  /** CUDA's name of it: CUDA_ERROR_ILLEGAL_ADDRESS. */
  readonly result: string;
  /** The function of the driver. */
  readonly call: string;

  constructor(code: number, result: string, call: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.result = result;
    this.call = call;
  }

  /** The same error, saying what was being done. */
  during(doing: string): CudaError {
    return new CudaError(this.code, this.result, this.call, `${doing}: ${this.message}`, { cause: this });
  }
}

/** PTX text that the driver does not compile; the message holds its log. */
export class PtxError extends Error {
  override readonly name = "PtxError";
}

/** There is no driver, or it lacks a function. */
export class DriverMissingError extends Error {
  override readonly name = "DriverMissingError";
  readonly kind: "missing" | "too-old";

  constructor(kind: "missing" | "too-old", message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }
}
