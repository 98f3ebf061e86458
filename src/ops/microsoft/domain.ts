/** @file Names of ONNX Runtime's operator domains. */

export const microsoft = "com.microsoft";

/** What ONNX Runtime's layout transformation leaves in a saved optimized model: ai.onnx operators with channels last. */
export const internalNhwc = "com.ms.internal.nhwc";
