/** @file Field numbers of the messages tc-lint reads. Source: onnx.proto (IR version 14). */

export const modelFields = {
  irVersion: 1,
  producerName: 2,
  producerVersion: 3,
  graph: 7,
  opsetImport: 8,
  metadataProps: 14,
  trainingInfo: 20,
  functions: 25,
} as const;

export const opsetFields = { domain: 1, version: 2 } as const;
export const entryFields = { key: 1, value: 2 } as const;

export const graphFields = {
  node: 1,
  name: 2,
  initializer: 5,
  input: 11,
  output: 12,
  valueInfo: 13,
  quantizationAnnotation: 14,
  sparseInitializer: 15,
} as const;

export const nodeFields = {
  input: 1,
  output: 2,
  name: 3,
  opType: 4,
  attribute: 5,
  domain: 7,
  overload: 8,
  metadataProps: 9,
} as const;

export const attributeFields = {
  name: 1,
  f: 2,
  i: 3,
  s: 4,
  t: 5,
  g: 6,
  floats: 7,
  ints: 8,
  strings: 9,
  tensors: 10,
  graphs: 11,
  tp: 14,
  typeProtos: 15,
  type: 20,
  refAttrName: 21,
  sparseTensor: 22,
  sparseTensors: 23,
} as const;

export const tensorFields = {
  dims: 1,
  dataType: 2,
  segment: 3,
  floatData: 4,
  int32Data: 5,
  stringData: 6,
  int64Data: 7,
  name: 8,
  rawData: 9,
  doubleData: 10,
  uint64Data: 11,
  externalData: 13,
  dataLocation: 14,
} as const;

export const annotationFields = { tensor: 1, parameters: 2 } as const;
export const sparseFields = { values: 1, indices: 2, dims: 3 } as const;
export const valueInfoFields = { name: 1, type: 2 } as const;
export const typeFields = { tensor: 1, sequence: 4, map: 5, opaque: 7, sparse: 8, optional: 9 } as const;
export const tensorTypeFields = { elementType: 1, shape: 2 } as const;
export const shapeFields = { dim: 1 } as const;
export const dimFields = { value: 1, parameter: 2 } as const;

export const functionFields = {
  name: 1,
  input: 4,
  output: 5,
  attribute: 6,
  node: 7,
  opsetImport: 9,
  domain: 10,
  attributeProto: 11,
  valueInfo: 12,
  overload: 13,
} as const;
