/** The entry `jobforge/testing`: databases, inline runs and assertions for tests. */
export * from "@jobforge/testing";
