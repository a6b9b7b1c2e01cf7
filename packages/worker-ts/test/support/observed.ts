/** A client's transport that tells of every call of a function. Nothing else is changed. */
import type { JobForge, Transport } from "@jobforge/sdk-ts";

export function observed(forge: JobForge, onCall: (name: string) => void): { readonly transport: Transport } {
  const { transport } = forge;
  return {
    transport: {
      ...transport,
      call: (name, args, options) => {
        onCall(name);
        return transport.call(name, args, options);
      },
    },
  };
}
