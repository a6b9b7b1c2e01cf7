/** The package's version, as workers tell it to the kernel. A test compares it to package.json. */
export const version = "0.1.0";
