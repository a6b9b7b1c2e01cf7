import { playAll } from "../runner/suite.ts";
import { targets } from "../runner/targets.ts";

await playAll(targets["ts-redis"]);
