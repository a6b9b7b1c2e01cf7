/** Endpoints of webhooks, their deliveries, and the changes of both. */
import { useInfiniteQuery, useQuery } from "@tanstack/preact-query";
import { api, bodyOf, type Schemas } from "./client.ts";

export type Endpoint = Schemas["WebhookEndpoint"];
export type NewEndpoint = Schemas["NewEndpoint"];
export type Delivery = Schemas["Job"];
export type DeliveryStatus = Delivery["status"];
export type DeliveryFilters = Schemas["DeliveryFilters"];

/** What names one endpoint. An operator names its tenant, too. */
export interface EndpointName {
  readonly id: string;
  readonly tenant: string | undefined;
}

const queryOf = (tenant: string | undefined) => (tenant === undefined ? {} : { tenant_id: tenant });

const params = ({ id, tenant }: EndpointName) => ({ path: { id }, query: queryOf(tenant) });

/** The endpoints of these tenants, the oldest first. */
export const useEndpoints = (tenants: readonly (string | undefined)[] | undefined) =>
  useQuery({
    queryKey: ["webhooks", tenants ?? null],
    enabled: tenants !== undefined,
    queryFn: async () => {
      const lists = await Promise.all(
        (tenants ?? []).map((tenant) =>
          bodyOf(api.GET("/v1/webhooks", { params: { query: queryOf(tenant) } })),
        ),
      );
      return lists.flatMap(({ items }) => items).sort((a, b) => (a.id < b.id ? -1 : 1));
    },
    meta: { live: true },
  });

export const useEndpoint = (name: EndpointName) =>
  useQuery({
    queryKey: ["webhook", name.id, name.tenant ?? null],
    queryFn: () => bodyOf(api.GET("/v1/webhooks/{id}", { params: params(name) })),
    meta: { live: true },
  });

const pageSize = 50;

export const useDeliveries = (name: EndpointName, status: readonly DeliveryStatus[]) =>
  useInfiniteQuery({
    queryKey: ["deliveries", name.id, name.tenant ?? null, status],
    queryFn: ({ pageParam }) => {
      const query = {
        ...queryOf(name.tenant),
        limit: pageSize,
        ...(status.length > 0 && { status: [...status] }),
        ...(pageParam && { cursor: pageParam }),
      };
      return bodyOf(api.GET("/v1/webhooks/{id}/deliveries", { params: { path: { id: name.id }, query } }));
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ cursor }) => cursor ?? undefined,
    placeholderData: (before) => before,
    meta: { live: true },
  });

export function createEndpoint(tenant: string | undefined, body: NewEndpoint): Promise<Endpoint> {
  return bodyOf(api.POST("/v1/webhooks", { params: { query: queryOf(tenant) }, body }));
}

export function enableEndpoint(name: EndpointName): Promise<Endpoint> {
  return bodyOf(api.POST("/v1/webhooks/{id}/enable", { params: params(name) }));
}

export function disableEndpoint(name: EndpointName, reason: string): Promise<Endpoint> {
  const body = reason === "" ? {} : { reason };
  return bodyOf(api.POST("/v1/webhooks/{id}/disable", { params: params(name), body }));
}

/** `keep`: how long the key before signs as well, as an interval of Postgres. */
export function rotateEndpoint(name: EndpointName, keep: string): Promise<Endpoint> {
  return bodyOf(api.POST("/v1/webhooks/{id}/rotate", { params: params(name), body: { keep } }));
}

export function testEndpoint(name: EndpointName): Promise<unknown> {
  return bodyOf(api.POST("/v1/webhooks/{id}/test", { params: params(name) }));
}

export function deleteEndpoint(name: EndpointName): Promise<unknown> {
  return bodyOf(api.DELETE("/v1/webhooks/{id}", { params: params(name) }));
}

/** The secrets are read when someone asks for them, and no cache keeps them. */
export async function secretsOf(name: EndpointName): Promise<Schemas["EndpointSecrets"]["items"]> {
  return (await bodyOf(api.GET("/v1/webhooks/{id}/secret", { params: params(name) }))).items;
}

/** A replay changes up to this many deliveries. */
export const mostReplayed = 1000;

export function replayDeliveries(
  name: EndpointName,
  filters: DeliveryFilters,
): Promise<{ matched: number; replayed: number }> {
  const body = { filters, limit: mostReplayed };
  return bodyOf(api.POST("/v1/webhooks/{id}/replay", { params: params(name), body }));
}
