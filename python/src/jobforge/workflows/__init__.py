"""Workflows: steps that need each other."""
