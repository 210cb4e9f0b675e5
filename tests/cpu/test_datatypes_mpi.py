"""The datatypes pack under real MPIs: random types, two processes, refusals, documentation, the benchmark.

Each MPI is run in processes of its own. Where one is not installed its tests are skipped with the reason;
`make test`, and so CI, sets KERNELWRIGHT_TEST_MPI=required, and then they fail.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from kernelwright.core.errors import EnvironmentFault
from kernelwright.workloads.datatypes import benchmark
from kernelwright.workloads.datatypes.grid import BLOCKS, BYTES, KINDS, points
from kernelwright.workloads.datatypes.mpis import FILES, Peer, peer
from kernelwright.workloads.datatypes.pack import PACK

ROOT = Path(__file__).parents[2]
TYPES = 1500
"""Random types for each MPI; the benchmark tries 100,000."""


@pytest.fixture(params=FILES)
def mpi(request: pytest.FixtureRequest) -> Peer:
    try:
        return peer(request.param)
    except EnvironmentFault as fault:
        if os.environ.get("KERNELWRIGHT_TEST_MPI") == "required":
            raise
        pytest.skip(str(fault))


def test_random_types_are_packed_as_mpi_packs_them(mpi: Peer) -> None:
    found = benchmark.equality(mpi, TYPES, seed=7)
    assert found["different"] == []
    kinds = found["kinds"]
    assert sum(kinds.values()) == TYPES and kinds["equal"] > TYPES / 2 > kinds["overlapping"] > 0
    assert kinds.get("MPI against itself", 0) <= TYPES / 100


def test_two_processes_exchange(mpi: Peer) -> None:
    found = json.loads("".join(mpi.lines([str(ROOT / "tests/cpu/datatypes_ranks.py")], ranks=2)))
    faces = [f"face across {axis}" for axis in "zyx"]
    assert found == {"ranks": 2, "right": [*faces, "transpose", "particles", "struct"]}


def test_what_is_refused_and_what_forms_there_are(mpi: Peer) -> None:
    found = json.loads("".join(mpi.lines([str(ROOT / "tests/cpu/datatypes_alone.py")])))
    said = found["refusals"]
    assert all("\n" not in words for words in said.values())
    assert said.pop("good") == ""
    for name, words in (
        ("freed", "it was freed"), ("uncommitted", "call Commit"), ("text", "a str was given"),
        ("threads", "threads is 0"), ("many threads", "threads is 1025; give"),
        ("deep", "nested more than"), ("finalized", "MPI is not running"),
    ):  # fmt: skip
        assert words in said.pop(name)
    assert "give a smaller count" in said.pop("far count")
    assert len(said) == 6
    assert all(name.startswith("far ") and "build it from smaller" in words for name, words in said.items())
    assert found["after it was freed"] == [0, 1, 2, 3, 12, 13, 14, 15]
    assert set(found["numbers"].values()) == {True}
    forms = found["forms"]
    assert forms.pop("named") == "8 bytes at 0" and forms.pop("contiguous") == "80 bytes at 0"
    assert forms.pop("large") == "3 x every 8,589,934,592: 2,147,483,648 bytes at 0"
    assert set(forms.values()) == {"3 x every 40: 16 bytes at 0"}


@pytest.mark.parametrize("page", ["docs/datatypes.md", "kernelwright/workloads/datatypes/README.md"])
def test_examples_of_the_documentation_print_what_they_show(page: str, mpi: Peer) -> None:
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", (ROOT / page).read_text(), re.S)
    assert blocks
    code = "".join(code for code, _ in blocks)
    assert "".join(mpi.lines(["-c", code])) == "".join(shown for _, shown in blocks)


def test_the_benchmark_measures(mpi: Peer) -> None:
    lines = mpi.lines(["-m", "kernelwright.workloads.datatypes.beside", "--grid", "least"])
    records = [json.loads(line) for line in lines]
    assert [record["kind"] for record in records] == list(KINDS)
    for record in records:
        for way in ("pack", "unpack", "python", "bound"):
            assert record[way]["us"] > 0 and record[way]["mpi_us"] > 0
            assert record[way]["ci"][0] <= record[way]["ratio"] <= record[way]["ci"][1]


def test_the_grid_is_what_it_says() -> None:
    grid = list(points())
    assert {point.kind for point in grid} == set(KINDS) and {point.bytes for point in grid} == set(BYTES)
    assert {point.block for point in grid} == set(BLOCKS) and len(set(grid)) == len(grid)
    for point in grid:
        rows, planes = point.rows
        assert rows * planes * point.block == point.bytes and point.pitch > point.block


def test_an_mpi_that_fails_or_is_absent_is_said(mpi: Peer) -> None:
    with pytest.raises(EnvironmentFault, match=f"fails under {mpi.name}: ZeroDivisionError"):
        list(mpi.lines(["-c", "1 / 0"]))
    with pytest.raises(EnvironmentFault, match="'mpi' is no MPI library; allowed: mpich, openmpi"):
        peer("mpi")


def test_neither_the_pack_nor_its_kernels_import_mpi_or_torch() -> None:
    code = "import sys, kernelwright.workloads.datatypes; print({'torch', 'mpi4py'} & set(sys.modules))"
    alone = Peer("none", "", Path(), Path(sys.executable))
    assert list(alone.lines(["-c", code])) == ["set()\n"]


def test_the_extra_and_the_libraries_of_ci_are_declared() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    assert f"\n{PACK.extra or PACK.name} = [" in text
    dev = re.search(r"^dev = \[(.*?)\]$", text, re.M)
    assert dev and all(f'"{name}' in dev[1] for name in (*FILES, "mpi4py"))
    assert "KERNELWRIGHT_TEST_MPI=required" in (ROOT / "Makefile").read_text()
