"""Who the current tenant is."""

from jobforge import tenant_id


def current_tenant() -> str:
    return tenant_id("shop-1")
