"""The version of this package, which is the version of JobForge."""

VERSION = "0.1.0"
__version__ = VERSION
