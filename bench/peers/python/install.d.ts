/** The types of install.js, for TypeScript. */
export function install(
  name: string,
  onProgress: (message: string) => void,
): { command: string; args: string[]; env: Record<string, string> };
