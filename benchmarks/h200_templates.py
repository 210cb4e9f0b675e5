"""CUDA templates on an H200 at the sizes of KernelBench, against eager, torch.compile and Triton.

    python -m benchmarks.h200_templates [--only softmax,rmsnorm] [--seconds 220] [--rounds 2] [--out FILE]

Each operator is captured, cut and emitted as in a search; the default choice and two rounds of its
neighbours are compiled, checked against float64 on a slice, and timed. Operators run in a child
process, so that a kernel that hangs or faults costs its own operator only. Prints a table and writes
JSON lines (to $OUT/h200_templates.jsonl, or --out). Figures are leads, not results of the ledger.
"""

from __future__ import annotations

import argparse
import gc
import inspect
import itertools
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F

COPY_TB_S, READ_TB_S = 4.25, 4.38
"""Ceilings measured on this GPU before; shares are of copy, or of read where little is written."""
PATIENCE_S = 45
"""A child that says nothing for so long hangs."""


class Model(torch.nn.Module):
    """A function as a module, for capture and torch.compile."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.forward = function  # type: ignore[method-assign]


def _first(x: torch.Tensor, *rest: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The first two of the outermost dimension, of every input that has it."""
    return (x[:2], *(y[:2] if y.shape[:1] == x.shape[:1] and y.dim() == x.dim() else y for y in rest))


def _two(out: torch.Tensor) -> torch.Tensor:
    return out[:2]


@dataclass(frozen=True)
class Operator:
    """A function, how to draw its inputs, and a slice of both on which float64 is affordable."""

    name: str
    function: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    cut: Callable[..., tuple[Any, ...]] = _first
    """Inputs to the inputs of a slice."""
    cut_out: Callable[[torch.Tensor], torch.Tensor] = _two
    """The matching part of the output."""
    triton: str = ""
    """`softmax` or `norm` where Triton has a peer; the input is seen as rows."""
    columns: int = 0
    """Row length for the Triton peer; 0 for that of the input."""


def _whole(*inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return inputs


IMAGES = (112, 64, 512, 512)
OPERATORS = (
    Operator("softmax", lambda x: torch.softmax(x, 1), ((4096, 393216),), triton="softmax"),
    Operator("rmsnorm", lambda x: x / torch.sqrt(torch.mean(x**2, 1, keepdim=True) + 1e-5), (IMAGES,)),
    Operator("instancenorm", lambda x: F.instance_norm(x), (IMAGES,), triton="norm", columns=262144),
    Operator("groupnorm", lambda x, w, b: F.group_norm(x, 8, w, b), (IMAGES, (64,), (64,))),
    Operator(
        "layernorm3", lambda x, w, b: F.layer_norm(x, x.shape[1:], w, b),
        ((16, 64, 256, 256), (64, 256, 256), (64, 256, 256)),
    ),
    Operator(
        "batchnorm", lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
        ((64, 64, 512, 512), (64,), (64,)),
        lambda x, w, b: (x[:, :2], w[:2], b[:2]), lambda out: out[:, :2],
    ),
    Operator("sum1", lambda x: torch.sum(x, 1, keepdim=True), ((128, 4096, 4095),)),
    Operator("relu", lambda x: torch.relu(x), ((4096, 393216),)),
    Operator(
        "bias_gelu_residual", lambda x, bias, residual: F.gelu(x + bias) + residual,
        ((65536, 8192), (8192,), (65536, 8192)),
    ),
    Operator("swiglu", lambda gate, up: F.silu(gate) * up, ((65536, 8192), (65536, 8192))),
    Operator("log_softmax", lambda x: torch.log_softmax(x, 1), ((8192, 50257),), triton="softmax"),
    Operator("softmax_1024", lambda x: torch.softmax(x, 1), ((262144, 1024),), triton="softmax"),
    Operator("softmax_8192", lambda x: torch.softmax(x, 1), ((32768, 8192),), triton="softmax"),
    Operator(
        "layernorm_1024", lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b),
        ((262144, 1024), (1024,), (1024,)), triton="norm",
    ),
    Operator(
        "rmsnorm_4096", lambda x, w: x * torch.rsqrt(torch.mean(x * x, -1, keepdim=True) + 1e-5) * w,
        ((65536, 4096), (4096,)),
    ),
    Operator(
        "column_sum_squares", lambda x: (x * x).sum(0), ((65536, 8192),),
        lambda x: (x[:, :64],), lambda out: out[:64],
    ),
    Operator("mean_all", lambda x: torch.mean(x), ((65536, 16384),), _whole, lambda out: out),
    Operator("gelu", lambda x: F.gelu(x), ((4096, 393216),)),
    Operator("relu_small", lambda x: torch.relu(x), ((1024, 4096),)),
    Operator("softmax_small", lambda x: torch.softmax(x, 1), ((2048, 1024),), triton="softmax"),
    Operator(
        "layernorm_small", lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b), ((4096, 768), (768,), (768,))
    ),
    Operator("max1", lambda x: torch.amax(x, 1), ((128, 4096, 4095),)),
)  # fmt: skip
"""The first ones say most; what the time does not reach is skipped."""


# One operator, in a child process ------------------------------------------------------------------


def say(**row: Any) -> None:
    """One JSON line for the parent."""
    print(json.dumps(row), flush=True)


def draw(shapes: Sequence[tuple[int, ...]]) -> list[torch.Tensor]:
    """Signed inputs with a mean, so that a careless variance would show."""
    generator = torch.Generator("cuda").manual_seed(1)
    drawn = []
    for shape in shapes:
        tensor = torch.empty(shape, device="cuda").normal_(0.5, 1.0, generator=generator)
        drawn.append(tensor)
    return drawn


class Bench:
    """One operator with its inputs on the device."""

    def __init__(self, operator: Operator) -> None:
        from benchmarks.cuda_device import Clock

        self.operator = operator
        self.inputs = draw(operator.shapes)
        self.clock = Clock()
        with torch.no_grad():
            self.out = operator.function(*self.inputs)
            sliced = [each.double() for each in operator.cut(*self.inputs)]
            self.expected = operator.function(*sliced)
            del sliced
        self.scale = float(self.expected.abs().max())
        moved = sum(each.nbytes for each in self.inputs) + self.out.nbytes
        self.gigabytes = moved / 1e9

    def error(self, out: torch.Tensor) -> float:
        """Largest difference from float64 on the slice, over the largest value."""
        found = self.operator.cut_out(out).double()
        return float((found - self.expected).abs().max()) / self.scale

    def ceiling(self) -> float:
        """TB/s that this mix of reading and writing can reach."""
        return READ_TB_S if self.out.nbytes * 8e-9 < self.gigabytes else COPY_TB_S

    def row(self, kind: str, label: str, ms: float, error: float, **more: Any) -> None:
        """Report one measurement."""
        speed = self.gigabytes / ms
        say(
            operator=self.operator.name, kind=kind, label=label, ms=round(ms, 5), error=error,
            gb_s=round(1000 * speed, 1), share=round(speed / self.ceiling(), 4), **more,
        )  # fmt: skip

    def torch_peers(self) -> None:
        """Eager and torch.compile."""
        with torch.no_grad():
            function = self.operator.function
            self.row("eager", "", self.clock.ms(lambda: function(*self.inputs), 7), self.error(self.out))
            start = time.perf_counter()
            compiled = torch.compile(function)
            out = compiled(*self.inputs)
            seconds = round(time.perf_counter() - start, 1)
            error = self.error(out)
            del out
            self.row("compile", "", self.clock.ms(lambda: compiled(*self.inputs), 7), error, seconds=seconds)

    def triton_peer(self) -> None:
        """The fastest variant of the Triton peer."""
        from benchmarks.triton_rows import variants

        if not self.operator.triton:
            return
        x = self.inputs[0].view(-1, self.operator.columns or self.inputs[0].shape[-1])
        target = torch.full_like(self.out, float("nan"))
        for label, call in variants(self.operator.triton, x, target.view_as(x)):
            try:
                ms = self.clock.ms(call, 5)
            except triton_errors() as error:
                say(operator=self.operator.name, kind="triton", label=label, failed=str(error)[:200])
                continue
            self.row("triton", label, ms, self.error(target))


def triton_errors() -> tuple[type[Exception], ...]:
    """What Triton raises where a variant does not fit the device."""
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import OutOfResources

    return (CompilationError, OutOfResources)


class Templates:
    """Choices of all templates for one operator, tried and timed."""

    def __init__(self, bench: Bench) -> None:
        from kernelwright.graph.capture import capture
        from kernelwright.graph.cut import cut

        self.bench = bench
        partition = cut(capture(Model(bench.operator.function), tuple(bench.inputs)), {})
        self.region = partition.regions[0]
        outputs = [buffer.name for buffer in partition.buffers if buffer.role == "output"]
        steps = len(partition.steps)
        say(
            operator=bench.operator.name, kind="cut", regions=steps, dims=[d.extent for d in self.region.dims]
        )
        if steps != 1 or len(outputs) != 1:
            raise SystemExit(f"{bench.operator.name} is cut into {steps} steps")
        self.target = torch.empty_like(bench.out)
        names = inspect.signature(bench.operator.function).parameters
        self.tensors = dict(zip(names, bench.inputs, strict=True)) | {outputs[0]: self.target}
        self.seen: dict[str, float] = {}

    def search(self, rounds: int) -> None:
        """The default of every template, then rounds of neighbours of the best so far."""
        from kernelwright.propose import TEMPLATES

        for name in TEMPLATES.names():
            template = TEMPLATES.get(name)()
            if template.target != "cuda" or template.unavailable(self.region):
                continue
            space = template.space(self.region)
            best = space.default()
            best_ms = self._try_all(template, [best])[best]
            for _ in range(rounds):
                found = self._try_all(template, space.neighbors(best))
                nearest = min(found, key=lambda choice: found[choice], default=best)
                if found.get(nearest, float("inf")) >= best_ms:
                    break
                best, best_ms = nearest, found[nearest]

    def _try_all(self, template: Any, choices: list[Any]) -> dict[Any, float]:
        from benchmarks.cuda_device import CannotRun, compile_text

        emitted = {choice: template.emit(self.region, choice, "kw") for choice in choices}
        with ThreadPoolExecutor(8) as pool:
            jobs = {choice: pool.submit(compile_text, each) for choice, each in emitted.items()}
        times = {}
        for choice, job in jobs.items():
            label = " ".join(f"{name}={value}" for name, value in choice.items())
            text = repr((emitted[choice].source, emitted[choice].steps))
            if text in self.seen:
                times[choice] = self.seen[text]
                continue
            say(operator=self.bench.operator.name, kind="trying", label=f"{template.name} {label}")
            try:
                times[choice] = self._time(template.name, label, emitted[choice], *job.result())
            except CannotRun as error:
                say(
                    operator=self.bench.operator.name,
                    kind=template.name,
                    label=label,
                    failed=str(error)[:300],
                )
                times[choice] = float("inf")
            self.seen[text] = times[choice]
        return times

    def _time(self, name: str, label: str, emitted: Any, cubin: bytes, log: str) -> float:
        from benchmarks.cuda_device import Loaded

        loaded = Loaded(cubin, emitted, self.tensors)
        self.target.fill_(float("nan"))
        ms = self.bench.clock.ms(loaded, 5)
        facts = [line.strip() for line in log.splitlines() if "registers" in line or "spill" in line]
        self.bench.row(name, label, ms, self.bench.error(self.target), ptxas=facts)
        loaded.close()
        return ms


def run_operator(name: str, rounds: int, peers: bool) -> None:
    """Everything for one operator; rows on stdout."""
    operator = next(each for each in OPERATORS if each.name == name)
    say(operator=name, kind="begin")
    bench = Bench(operator)
    Templates(bench).search(rounds)
    if peers:
        bench.triton_peer()
        bench.torch_peers()
    say(operator=name, kind="end")


def run_child(names: list[str], rounds: int, peers: bool) -> None:
    """Operators one after the other in this process."""
    torch.cuda.init()
    for name in names:
        run_operator(name, rounds, peers)
        torch._dynamo.reset()
        gc.collect()
        torch.cuda.empty_cache()


# The parent ----------------------------------------------------------------------------------------


def rows_of(names: list[str], extra: list[str], seconds: float) -> Iterator[dict[str, Any]]:
    """Rows of these operators from one child; what was tried last is named where it died or hung."""
    command = [sys.executable, "-m", "benchmarks.h200_templates", "--child", ",".join(names), *extra]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert child.stdout is not None
    last: dict[str, Any] = {"operator": names[0]}
    end, rest = time.monotonic() + seconds, b""
    while select.select([child.stdout], [], [], PATIENCE_S)[0] and time.monotonic() < end:
        data = os.read(child.stdout.fileno(), 65536)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            last = json.loads(line)
            yield last
    else:
        child.kill()
    if child.wait():
        what = {"label": last.get("label", ""), "failed": f"exit {child.returncode}"}
        yield {"operator": last["operator"], "kind": "died", **what}


def all_rows(names: list[str], extra: list[str], seconds: float) -> Iterator[dict[str, Any]]:
    """Rows of all operators; a new child goes on behind an operator at which one died."""
    end = time.monotonic() + seconds
    while names and time.monotonic() < end:
        done = 0
        for row in rows_of(names, extra, end - time.monotonic()):
            done = names.index(row["operator"]) + 1
            yield row
        names = names[max(done, 1) :]
    for name in names:
        yield {"operator": name, "kind": "skipped", "label": "", "failed": "out of time"}


def table(name: str, rows: list[dict[str, Any]]) -> Iterator[str]:
    """One line per kind: the first (default) and the best."""
    timed = [row for row in rows if "ms" in row]
    for kind in dict.fromkeys(row["kind"] for row in timed):
        of_kind = [row for row in timed if row["kind"] == kind]
        best = min(of_kind, key=lambda row: row["ms"])
        shown = [("first", of_kind[0]), ("best", best)] if len(of_kind) > 1 else [("", best)]
        for which, row in shown:
            yield (
                f"{name:20} {kind:15} {which:6} {row['ms']:9.4f} ms {row['gb_s']:8.0f} GB/s "
                f"{row['share']:6.1%} err {row['error']:.1e}  {row['label']}"
            )
    for row in rows:
        if "failed" in row:
            yield f"{name:20} {row['kind']:15} FAILED {row['failed'][:120]!r} {row['label']}"


def main() -> None:
    """Run the chosen operators and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="operators, with commas between")
    parser.add_argument("--seconds", type=float, default=225.0, help="for all operators together")
    parser.add_argument("--rounds", type=int, default=2, help="rounds of neighbours")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", ".")) / "h200_templates.jsonl")
    parser.add_argument("--child", default="", help=argparse.SUPPRESS)
    parser.add_argument("--no-peers", action="store_true", help="templates only: no torch, no Triton")
    options = parser.parse_args()
    if options.child:
        run_child(options.child.split(","), options.rounds, not options.no_peers)
        return
    if not torch.cuda.is_available():
        raise SystemExit("no CUDA device; this benchmark needs an H200")
    names = options.only.split(",") if options.only else [operator.name for operator in OPERATORS]
    extra = ["--rounds", str(options.rounds), *(["--no-peers"] if options.no_peers else [])]
    with options.out.open("w") as file:
        for name, group in itertools.groupby(
            all_rows(names, extra, options.seconds), lambda row: row["operator"]
        ):
            rows = list(group)
            file.writelines(json.dumps(row) + "\n" for row in rows)
            file.flush()
            print("\n".join(table(name, rows)), flush=True)


if __name__ == "__main__":
    main()
