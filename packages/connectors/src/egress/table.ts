/** What connectors refuse, as data. Connectors in other languages read the same file. */
import table from "../../../../conformance/egress.json" with { type: "json" };

export const { addresses, names, ports, headers } = table;
