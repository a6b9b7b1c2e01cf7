/**
 * A server of JobForge for contestants that reach the database over HTTP. Prints its address, and ends when its input
 * is closed.
 */
import { createServer } from "@jobforge/server";
import { pino } from "pino";

const { DATABASE_URL: database = "", JOBFORGE_JWT_SECRET: jwtSecret = "" } = process.env;
const server = createServer({ database, jwtSecret, logger: pino({ level: "silent" }) });
process.stdout.write(`${await server.listen({ port: 0 })}\n`);
process.stdin.resume().on("end", () => void server.close());
