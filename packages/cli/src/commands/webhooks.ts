/** `jobforge webhooks`: manages endpoints and their deliveries, and helps those who build a receiver. */
import type { Command } from "commander";
import { addGroup, type Cli } from "../command.ts";
import { addEndpointCommand } from "../webhooks/add.ts";
import { deliveriesCommand, replayCommand } from "../webhooks/deliveries.ts";
import { listCommand } from "../webhooks/list.ts";
import { listenCommand } from "../webhooks/listen.ts";
import { secretCommand } from "../webhooks/secret.ts";
import { showCommand } from "../webhooks/show.ts";
import {
  deleteCommand,
  disableCommand,
  enableCommand,
  rotateCommand,
  testCommand,
} from "../webhooks/steer.ts";
import { verifyCommand } from "../webhooks/verify.ts";

export function webhooksCommands(program: Command, cli: Cli): void {
  const webhooks = addGroup(program, "webhooks", "Manage endpoints of webhooks, and test receivers");
  const ofEndpoints = [listCommand, showCommand, addEndpointCommand, testCommand, rotateCommand];
  const ofState = [enableCommand, disableCommand, deleteCommand, secretCommand];
  const ofDeliveries = [deliveriesCommand, replayCommand, listenCommand, verifyCommand];
  for (const add of [...ofEndpoints, ...ofState, ...ofDeliveries]) add(webhooks, cli);
}
