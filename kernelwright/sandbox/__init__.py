"""Warm workers that run named functions under limits. Knows nothing of kernels."""

from kernelwright.sandbox.errors import CallFailed, WorkerDied, WorkerFailure, WorkerTimedOut
from kernelwright.sandbox.limits import Limits
from kernelwright.sandbox.worker import Worker

__all__ = ["CallFailed", "Limits", "Worker", "WorkerDied", "WorkerFailure", "WorkerTimedOut"]
