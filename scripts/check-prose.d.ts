/** The types of check-prose.js, for its test in TypeScript. */

export interface Problem {
  readonly line: number;
  readonly message: string;
}

/** Returns the problems of a file, sorted by line. `path` decides the language. */
export function findProblems(path: string, text: string): Problem[];
