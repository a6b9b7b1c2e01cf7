"""Keeps the worker known to the database, and awake when jobs are due."""
