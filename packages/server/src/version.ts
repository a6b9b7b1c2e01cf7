import manifest from "../package.json" with { type: "json" };

/** The version of JobForge, which is the version of this package. */
export const serverVersion: string = manifest.version;
