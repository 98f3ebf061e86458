/**
 * @file Where in Python a node came from.
 *
 * The dynamo exporter writes a stack trace and the module path into a node's metadata_props; the TorchScript exporter
 * puts the module path into the node's name (`/layer1/layer1.0/conv1/Conv`).
 */
import type { Model, Node } from "../ir/model.ts";

export interface Origin {
  readonly source: { readonly file: string; readonly line: number } | null;
  readonly module: string | null;
}

/** Keys of torch.onnx's dynamo exporter. */
const stackTraceKey = "pkg.torch.onnx.stack_trace";
const nameScopesKey = "pkg.torch.onnx.name_scopes";
const namespaceKey = "namespace";

/** Frames inside the framework say nothing about the user's code. */
const frameworkFrame = /[\\/](torch|onnxscript|functorch)[\\/]/;

export function originOf(node: Node, model: Model): Origin {
  const metadata = model.reader.nodeMetadata(node);
  const trace = metadata.get(stackTraceKey);
  return {
    source: trace === undefined ? null : sourceOf(trace),
    module:
      moduleOfScopes(metadata.get(nameScopesKey)) ??
      moduleOfNamespace(metadata.get(namespaceKey)) ??
      moduleOfName(node.name),
  };
}

/** The innermost frame of a Python traceback that is not the framework's own, else the innermost of all. */
function sourceOf(trace: string): Origin["source"] {
  const frames = [...trace.matchAll(/File "([^"]+)", line (\d+)/g)].map((match) => ({
    file: match[1] ?? "",
    line: Number(match[2]),
  }));
  const own = frames.findLast(({ file }) => !frameworkFrame.test(file));
  return own ?? frames.at(-1) ?? null;
}

/** `['', 'layer1', 'layer1.0', 'layer1.0.conv1', 'conv2d']`: the last entry but one is the module. */
function moduleOfScopes(scopes: string | undefined): string | null {
  if (scopes === undefined) return null;
  const names = [...scopes.matchAll(/'([^']*)'/g)].map((match) => match[1] ?? "");
  const module = names.at(-2);
  return module === undefined || module === "" ? null : module;
}

/** What PyTorch called where the exporter wrote the node: `aten.conv2d.default`; undefined where it does not say. */
export function calledBy(node: Node, model: Model): string | undefined {
  const namespace = model.reader.nodeMetadata(node).get(namespaceKey);
  return namespace?.split("/").at(-1)?.split(":")[1]?.trim();
}

/** `: M/m: torchvision.ResNet/m.conv1: Conv2d/conv2d: aten.conv2d.default`. */
function moduleOfNamespace(namespace: string | undefined): string | null {
  const parts = namespace?.split("/").map((part) => part.split(":")[0]?.trim() ?? "");
  const module = parts?.at(-2);
  return module === undefined || module === "" ? null : module;
}

/** `/layer1/layer1.0/conv1/Conv` to `layer1.0.conv1`: a part that repeats what stands before it replaces it. */
function moduleOfName(name: string): string | null {
  if (!name.startsWith("/")) return null;
  const parts = name.split("/").slice(1, -1);
  let [path, last] = ["", ""];
  for (const part of parts) {
    const repeats = last !== "" && part.startsWith(`${last}.`);
    path = repeats ? `${path.slice(0, path.length - last.length)}${part}` : joinPath(path, part);
    last = part;
  }
  return path === "" ? null : path;
}

function joinPath(path: string, part: string): string {
  return path === "" ? part : `${path}.${part}`;
}
