/** The types of install.js, for what is written in TypeScript. */
export function install(onProgress: (message: string) => void): { command: string; args: string[] };
