/** Ends this process together with the conductor, so that no process stays behind if the conductor is killed. */
process.on("disconnect", () => process.exit(1));
// The channel alone must not keep the process alive.
process.channel?.unref();
