/** The settings under which a transaction runs nothing but JobForge's own statements, whatever its session has set. */

/**
 * Pins the settings of the current transaction. Names are found in the system's schema only, so no function, operator
 * or type of another role is ever used in place of the system's. Times and names are written in one way. The session's
 * own settings apply again when the transaction ends.
 */
export const pinSession: string = [
  "set local search_path = pg_catalog, pg_temp",
  "set local timezone = 'UTC'",
  "set local datestyle = 'ISO, MDY'",
  "set local intervalstyle = 'postgres'",
  "set local standard_conforming_strings = on",
  "set local quote_all_identifiers = off",
  "set local default_tablespace = ''",
  "set local default_table_access_method = 'heap'",
  "set local row_security = on",
]
  .map((statement) => `${statement};`)
  .join("\n");
