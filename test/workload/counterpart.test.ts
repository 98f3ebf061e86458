/** Of a model that is priced in other types, the counterpart of each product, by its node and its weight. */
import { expect } from "vitest";
import { createCostModel } from "../../src/cost/model.ts";
import { openModel } from "../../src/onnx/open.ts";
import { pricedAnew } from "../../src/workload/priced-at.ts";
import { counterpartIn } from "../../src/workload/product.ts";
import { priceModel } from "../../src/workload/workload.ts";
import { targetOf } from "../cost/targets.ts";
import { eachModel, zooModel } from "../zoo.ts";

eachModel(["crnn", "misaligned_cnn", "vit_tiny"])("%s: each has its own", (name) => {
  using model = openModel(zooModel(name));
  const cost = createCostModel();
  const half = priceModel(model, { target: targetOf("h200", "cudnn", "fp16"), cost });
  const file = pricedAnew(half, "as-is", cost);
  expect(file.products.map(counterpartIn(half.products))).toEqual(half.products);
});
