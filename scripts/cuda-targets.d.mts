export const allArchitectures: readonly string[];
export function frontEndOf(source: string, arch: string): string;
export function machineCodeOf(source: string, arch: string): string;
