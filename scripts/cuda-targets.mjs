// For which architectures a kernel family is compiled, and which share what: the front end (C++ to PTX) takes two thirds of the time of a build,
// and gives most architectures the same.

/** Oldest first. */
export const allArchitectures = ["75", "80", "86", "89", "90a", "100", "120"];
/** Where CUDA's own headers for halves have other instructions. */
const thresholdsOfHeaders = [800, 900];
const thresholdPattern = /__CUDA_ARCH__\s*[<>]=?\s*(\d+)/g;
/** Code of one architecture, whose PTX no other takes. */
const ownCode = /__CUDA_ARCH_FEAT_SM(\d+)_ALL/g;

/**
 * The architecture for whose PTX the front end runs, in place of `arch`: the first that takes the same branches of this source (with all
 * that it includes). "90" is what 90a shares with later ones.
 */
export function frontEndOf(source, arch) {
  const number = numberOf(arch);
  const isOwn = [...source.matchAll(ownCode)].some(([, own]) => 10 * Number(own) === number);
  if (isOwn) return arch;
  const thresholds = [...source.matchAll(thresholdPattern)].map(([, value]) => Number(value));
  const last = Math.max(0, ...[...thresholds, ...thresholdsOfHeaders].filter((value) => value <= number));
  const first = allArchitectures.find((each) => numberOf(each) >= last) ?? arch;
  return String(numberOf(first) / 10);
}

/**
 * The architecture whose machine code runs on `arch`: an earlier one of its major version with the same PTX, if there is one (machine code
 * of 8.0 runs on 8.6 and 8.9: CUDA C++ Programming Guide, Binary Compatibility).
 */
export function machineCodeOf(source, arch) {
  const frontEnd = frontEndOf(source, arch);
  const isSame = (each) =>
    majorOf(each) === majorOf(arch) &&
    numberOf(each) <= numberOf(arch) &&
    frontEndOf(source, each) === frontEnd;
  return allArchitectures.find(isSame) ?? arch;
}

/** As `__CUDA_ARCH__` has it. */
function numberOf(arch) {
  return 10 * Number.parseInt(arch, 10);
}

function majorOf(arch) {
  return Math.floor(numberOf(arch) / 100);
}
