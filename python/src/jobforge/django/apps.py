"""The application `jobforge.django`, for INSTALLED_APPS. It brings the command `jobforge_worker`."""

from django.apps import AppConfig


class JobForgeConfig(AppConfig):
    """It has no models: the kernel owns its tables."""

    name = "jobforge.django"
    label = "jobforge_django"
    verbose_name = "JobForge"
