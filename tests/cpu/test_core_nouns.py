"""The wire nouns: frozen, strict, and hashed by what identifies them."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from kernelwright.core.errors import UsageError
from kernelwright.core.kernel import Kernel, Proposer, Source
from kernelwright.core.plan import Buffer, BufferArg, Call, IntArg, Plan
from kernelwright.core.problem import Axis, Entry, Problem, TensorSpec
from kernelwright.core.target import Target
from kernelwright.core.verdict import GateResult, Verdict

PLAN = Plan(
    buffers=(
        Buffer(name="x", role="input", dtype="float32", shape=("n",)),
        Buffer(name="out", role="output", dtype="float32", shape=("n",)),
    ),
    run=(Call(entry="relu", args=(BufferArg(buffer="x"), BufferArg(buffer="out"), IntArg(value="n"))),),
)
KERNEL = Kernel(
    name="relu", problem="0" * 32, language="cpp", sources=(Source(path="relu.cpp", text="..."),), plan=PLAN
)
PROBLEM = Problem(
    name="relu",
    source="# a comment\nx",
    normalized="x",
    entry=Entry(kind="kernelbench", location="relu.py"),
    axes=(Axis(name="n", size=8),),
)


def test_kernel_hash_leaves_out_name_and_proposer() -> None:
    other = KERNEL.model_copy(update={"name": "mine", "proposer": Proposer(name="someone")})
    assert other.hash == KERNEL.hash
    assert KERNEL.model_copy(update={"domain": "n == 8"}).hash != KERNEL.hash


def test_problem_hash_leaves_out_what_is_derived() -> None:
    derived = {"inputs": (TensorSpec(name="x", dtype="float32", shape=(8,)),), "compulsory_bytes": 64}
    moved = Entry(kind="kernelbench", location="elsewhere.py")
    assert PROBLEM.model_copy(update={**derived, "entry": moved, "source": "x"}).hash == PROBLEM.hash
    assert PROBLEM.model_copy(update={"mode": "eval"}).hash != PROBLEM.hash


def test_round_trip_keeps_the_hash() -> None:
    text = KERNEL.model_dump_json()
    assert Kernel.model_validate_json(text).hash == KERNEL.hash
    assert Kernel.model_validate(json.loads(text)) == KERNEL


def test_unknown_keys_are_refused() -> None:
    with pytest.raises(ValidationError, match="blok"):
        Plan.model_validate({"buffers": [], "run": [], "blok": 1})


def test_trust_is_who_writes_the_host_side() -> None:
    assert KERNEL.trust == "sealed"
    assert KERNEL.model_copy(update={"plan": None}).trust == "open"


def test_verdict_names_the_first_failure_and_what_was_skipped() -> None:
    gates = [
        GateResult(name="form", status="pass", kind="contract"),
        GateResult(name="repeat", status="skipped", kind="time", message="no weights"),
        GateResult(name="numeric", status="fail", kind="precision", message="error 3 times eager's"),
        GateResult(name="floor", status="fail", kind="floor", message="too fast"),
    ]
    verdict = Verdict.of(gates, "quick", 1, ["open kernels"])
    assert verdict.verdict == "rejected"
    assert verdict.reason is not None and verdict.reason.gate == "numeric"
    assert verdict.not_checked == ("open kernels", "repeat: no weights")


@pytest.mark.parametrize("text", ["gpu", "cpu:native", "cuda:80", "", "CUDA"])
def test_unknown_targets_are_usage_errors(text: str) -> None:
    with pytest.raises(UsageError, match="allowed: cpu, cuda"):
        Target.parse(text)
