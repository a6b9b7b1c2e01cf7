"""Settings of the project."""

import os
from urllib.parse import urlsplit

_url = urlsplit(os.environ["DATABASE_URL"])

SECRET_KEY = "only for tests"
USE_TZ = True
INSTALLED_APPS = ["jobforge.django", "shop"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": _url.hostname,
        "PORT": _url.port,
        "USER": _url.username,
        "PASSWORD": _url.password,
        "NAME": _url.path.lstrip("/"),
    }
}
TASKS = {
    "default": {
        "BACKEND": "jobforge.django.JobForgeBackend",
        "OPTIONS": {"tenant": "shop.tenancy.current_tenant", "migrate": os.environ.get("SHOP_MIGRATES") == "1"},
    }
}
