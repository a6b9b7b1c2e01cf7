/** The subjects of attacks. */

/** What an attack is about. A violation names its subject. */
export const subjects = [
  /** A login reads or changes what is not its own. */
  "isolation",
  /** An explanation shows what other tenants run. */
  "explanations",
  /** A binding is escaped through a group, a rename or a new role of the same name. */
  "bindings",
  /** Objects of others in the API schema are called in sessions of JobForge. */
  "foreign objects",
  /** A bound worker changes marks of a worker that has the same name. */
  "worker names",
  /** The open transaction of a login stops other callers. */
  "open transactions",
  /** The open transaction of a bound worker stops the work of other tenants. */
  "shared work",
  /** Advisory locks of any login stop other callers. */
  "advisory locks",
  /** The settings of a session change what a function does. */
  "session settings",
  /** A token or key is accepted that must be refused. */
  "tokens",
  /** A token without an expiry is accepted. */
  "tokens without an end",
  /** A request makes the server fail, or shows rows of others. */
  "requests",
  /** A response is larger than any caller needs. */
  "response size",
  /** A call fails with an error that the reference does not list. */
  "errors",
] as const;
export type Subject = (typeof subjects)[number];
