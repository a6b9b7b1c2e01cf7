/** The types of install.js, for TypeScript. */
export function install(onProgress: (message: string) => void): { command: string; args: string[] };
