/** The package's version, which requests report. A test compares it with package.json. */
export const version = "0.1.0";
