/** A process of a run ends with the conductor: nobody is left behind when that is killed. */
process.on("disconnect", () => process.exit(1));
// The channel alone must not keep the process alive.
process.channel?.unref();
