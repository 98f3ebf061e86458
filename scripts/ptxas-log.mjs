// What the compilers of CUDA say of kernels.

/** Lines of a log that warn. */
export function warningsOf(log) {
  const lines = log.split("\n").map((line) => line.trim());
  return [...new Set(lines.filter((line) => /warning|C75\d\d/i.test(line)))];
}

/** What ptxas says of each entry, and the Tensor Core instruction in it. */
export function entriesOf(log, ptx) {
  const tensor = tensorInstructions(ptx);
  const entries = {};
  for (const part of log.split(/Compiling entry function '/).slice(1)) {
    const name = part.slice(0, part.indexOf("'"));
    const number = (pattern) => Number(pattern.exec(part)?.[1] ?? 0);
    entries[name] = {
      registers: number(/Used (\d+) registers/),
      sharedBytes: number(/(\d+) bytes smem/),
      spillBytes: number(/(\d+) bytes spill stores/) + number(/(\d+) bytes spill loads/),
      tensor: tensor.get(name) ?? null,
    };
  }
  return entries;
}

function tensorInstructions(ptx) {
  const found = new Map();
  for (const part of ptx.split(/^\.visible \.entry /m).slice(1)) {
    const [name] = /^[\w$]+/.exec(part) ?? [""];
    if (/\bwgmma\.mma_async/.test(part)) found.set(name, "wgmma");
    else if (/\bmma\.sync/.test(part)) found.set(name, "mma");
  }
  return found;
}
