"""Nouns, errors, registry and configuration. Standard library and pydantic only."""
