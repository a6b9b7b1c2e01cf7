/** A process that moves jobs to Redis or back, which the test kills: `mover.ts DIRECTION DATABASE REDIS PREFIX`. */
import { JobForge } from "@jobforge/sdk-ts";
import { BullForge, moveToPostgres, moveToRedis } from "../../src/index.ts";

const [, , direction, database = "", redis = "", prefix = ""] = process.argv;
await using postgres = new JobForge({ database });
await using forge = new BullForge({ redis, prefix });
const move = direction === "out" ? moveToRedis : moveToPostgres;
// The test kills this process a time after it has said so.
await forge.ready();
process.stdout.write("begins\n");
const { moved } = await move(postgres, forge, { types: ["moved"], batchSize: 5 });
process.stdout.write(`${moved}\n`);
