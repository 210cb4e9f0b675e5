"""What a worker sees of its parent's environment: no secrets, and no cache folders that it may not write."""

from __future__ import annotations

import pytest

from kernelwright.sandbox import Limits
from kernelwright.sandbox.environment import environment_for

CACHES = {"TORCHINDUCTOR_CACHE_DIR": "/elsewhere/inductor", "TRITON_CACHE_DIR": "/elsewhere/triton"}


@pytest.fixture(autouse=True)
def parent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**CACHES, "TORCH_LOGS": "dynamo", "API_KEY": "secret"}.items():
        monkeypatch.setenv(name, value)


def test_a_contained_worker_gets_neither_secrets_nor_caches_that_it_may_not_write() -> None:
    seen = environment_for(Limits.candidate(), {})
    assert seen["TORCH_LOGS"] == "dynamo"
    assert not seen.keys() & {*CACHES, "API_KEY"}


def test_a_cache_that_the_caller_names_for_it_is_passed() -> None:
    seen = environment_for(Limits.candidate(), {"TORCHINDUCTOR_CACHE_DIR": "/ours"})
    assert seen["TORCHINDUCTOR_CACHE_DIR"] == "/ours"


def test_a_trusted_worker_sees_all() -> None:
    assert CACHES.items() <= environment_for(Limits.trusted(), {}).items()
