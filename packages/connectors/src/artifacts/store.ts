/** What the stores and the connectors share: keys and references that are checked, and one error. */
import { type ArtifactKey, artifactRef, parseArtifactKey, parseArtifactRef } from "@jobforge/sdk-ts";
import { ConnectorError } from "../errors.ts";

export function refOf(key: string): string {
  return artifactRef(known(parseArtifactKey(key)));
}

/** The key of a reference. Throws if the reference is malformed. */
export function keyOf(ref: string): string {
  const { area, tenantId, id, name } = known(parseArtifactRef(ref));
  return `${area}/${tenantId}/${id}/${name}`;
}

/** Throws if the artifact belongs to another tenant, with the error of an artifact that does not exist. */
export function requireOwner(ref: string, tenantId: string): string {
  if (known(parseArtifactRef(ref)).tenantId !== tenantId) throw notThere();
  return ref;
}

export function notThere(): ConnectorError {
  return new ConnectorError("artifact_unavailable", "There is no such artifact.");
}

function known(key: ArtifactKey | undefined): ArtifactKey {
  if (key === undefined) throw notThere();
  return key;
}
