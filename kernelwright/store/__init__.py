"""Trials and runs on disk: one contract, kept in a database or in a file of JSON lines."""

from kernelwright.store.base import TrialStore
from kernelwright.store.choose import open_store

__all__ = ["TrialStore", "open_store"]
