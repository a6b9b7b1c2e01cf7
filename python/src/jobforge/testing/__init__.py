"""Tests on real databases."""
