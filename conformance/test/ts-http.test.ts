import { playAll } from "../runner/suite.ts";
import { targets } from "../runner/targets.ts";

playAll(targets["ts-http"]);
