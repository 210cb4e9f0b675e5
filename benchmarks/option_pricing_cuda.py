"""Option pricing on a CUDA device: against the CPU kernels, times, and beside fast_vollib's Triton kernels.

`python -m benchmarks.option_pricing --target cuda` runs this, a minute or so; `$OUT` or `results/h200` gets
the records.

Kernel time is between device events, caches flushed, the host ahead of the device. Wall time is from NumPy
arrays to NumPy arrays, copies to and from the device included, medians of calls. Floors: bytes that must move
over the copy speed measured in the same run, and 64-bit instructions (as they stand in the machine code, so
that branches count as if all were taken) over what the device's units can issue at its highest clock.

Not covered: several devices; the instructions of implied volatility, whose steps depend on the option.
"""

from __future__ import annotations

import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from benchmarks.cuda_device import Clock
from kernelwright.core.errors import EnvironmentFault, boundary
from kernelwright.core.target import Target
from kernelwright.languages import build
from kernelwright.sass.listing import parse_listing
from kernelwright.sass.read import disassemblers
from kernelwright.workloads import option_pricing as op
from kernelwright.workloads.option_pricing.benchmark import hostile, traded
from kernelwright.workloads.option_pricing.kernels import device_kernel
from kernelwright.workloads.option_pricing.peers import Book

Record = dict[str, Any]
SIZES = (100_000, 1_000_000, 10_000_000)
TASKS = ("price", "greeks", "implied_volatility")
RESULTS_OF = {"price": 1, "greeks": 6, "implied_volatility": 1}
EPS = {"float64": 2.0**-52, "float32": 2.0**-23}
LEAST = {EPS["float64"]: 1e-280, EPS["float32"]: 1e-30}
"""By eps: smaller values lose digits as they near the end of the type, and are not held to them."""
FP64 = ("DADD", "DMUL", "DFMA", "DSETP")
FP64_PER_CLOCK = 64
"""64-bit multiply-adds that a multiprocessor of capability 9.0 issues in a clock (CUDA C++ Programming Guide,
"Arithmetic Instructions")."""
WALL_ROUNDS = 7


@dataclass(frozen=True, slots=True)
class Options:
    """A book as tensors on the device, in the order of the pack's arguments."""

    sign: torch.Tensor
    spot: torch.Tensor
    strike: torch.Tensor
    years: torch.Tensor
    volatility: torch.Tensor
    price: torch.Tensor
    rate: float

    @classmethod
    def of(cls, book: Book, dtype: str) -> Options:
        """`book` on the device."""
        sign = np.where(book.calls, 1.0, -1.0)
        columns = (sign, book.spot, book.strike, book.years, book.volatility, book.price)
        kind = getattr(torch, dtype)
        return cls(*(torch.as_tensor(column).to("cuda", kind) for column in columns), book.rate)

    def call(self, task: str, on_error: str = "ignore") -> Any:
        """The pack's answer to a task."""
        contract = (self.sign, self.spot, self.strike, self.years, self.rate)
        if task == "implied_volatility":
            return op.implied_volatility(self.price, *contract, on_error=on_error)
        return getattr(op, task)(*contract, self.volatility, on_error=on_error)

    def inputs(self, task: str) -> list[torch.Tensor]:
        """What a kernel of this task must read."""
        last = self.price if task == "implied_volatility" else self.volatility
        return [self.sign, self.spot, self.strike, self.years, last]


def records() -> Iterator[Record]:
    """Accuracy, then speed by task, type and size."""
    yield {"what": "device", **machine()}
    for series, draw in (("random", traded), ("hostile", hostile)):
        for dtype in EPS:
            yield {"what": "accuracy", "series": series, "dtype": dtype, **accuracy(draw, dtype)}
    copy = copy_gbs()
    for size in SIZES:
        book = traded(np.random.default_rng(2), size)
        for task in TASKS:
            for dtype in EPS:
                yield {"what": "speed", "task": task, "dtype": dtype, "options": size, "copy_gbs": copy,
                       **speed(task, dtype, book, copy)}  # fmt: skip


def machine() -> Record:
    """Name, multiprocessors, highest clock, and what each kernel takes."""
    facts = torch.cuda.get_device_properties(0)
    levels = (("evaluate", 0), ("evaluate", 1), ("evaluate", 2), ("implied", 0))
    kernels = {
        f"{entry} {level} {dtype}": resources(entry, dtype, level) for entry, level in levels for dtype in EPS
    }
    units = facts.multi_processor_count
    return {"name": facts.name, "multiprocessors": units, "mhz": clock_mhz(), "kernels": kernels}


def clock_mhz() -> int | None:
    """The highest clock of the multiprocessors; None where NVML is not there."""
    if find_spec("pynvml") is None:
        return None
    nvml = import_module("pynvml")
    nvml.nvmlInit()
    return int(nvml.nvmlDeviceGetMaxClockInfo(nvml.nvmlDeviceGetHandleByIndex(0), nvml.NVML_CLOCK_SM))


@lru_cache
def resources(entry: str, dtype: Any, level: int) -> Record:
    """Registers, stack, and 64-bit arithmetic instructions of a kernel; None without a disassembler."""
    major, minor = torch.cuda.get_device_capability(0)
    made = build(device_kernel(entry, dtype, level), Target.parse(f"cuda:sm_{major}{minor}"))
    assert made.artifact is not None, made.log
    return {**made.resources[entry], **instructions(made.artifact)}


def instructions(cubin: str) -> Record:
    """Instructions of a cubin in all, and those of the 64-bit units; None without a disassembler."""
    tools = disassemblers()
    if not tools:
        return {"instructions": None, "fp64": None}
    command = [str(tools[0]), "-ndf", "-c", cubin]
    listing = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = [each.base for section in parse_listing(listing) for each in section.instructions]
    return {"instructions": len(names), "fp64": sum(name in FP64 for name in names)}


def accuracy(draw: Callable[[np.random.Generator, int], Book], dtype: str, count: int = 1_000_000) -> Record:
    """Differences from the CPU kernels on the same arguments, in units of eps of the value; and faults."""
    book = draw(np.random.default_rng(3), count)
    options = Options.of(book, dtype)
    found: Record = {"options": count}
    host = [column.cpu().numpy() for column in (options.sign, options.spot, options.strike, options.years)]
    last = {"price": options.price.cpu().numpy(), "volatility": options.volatility.cpu().numpy()}
    given = (*host, book.rate)
    first, second = op.greeks(*given, last["volatility"]), op.second_order(*given, last["volatility"])
    there = op.second_order(options.sign, options.spot, options.strike, options.years, options.rate,
                            options.volatility)  # fmt: skip
    implied = op.implied_volatility(last["price"], *given, on_error="ignore")
    pairs = {
        **_paired(first, options.call("greeks")),
        **_paired(second, there),
        "implied_volatility": (implied, options.call("implied_volatility")),
    }
    for name, (wanted, got) in pairs.items():
        found[name] = _apart(np.asarray(wanted, np.float64), got.double().cpu().numpy(), EPS[dtype])
    return found


def _paired(wanted: Any, got: Any) -> dict[str, tuple[Any, Any]]:
    return dict(zip(wanted._fields, zip(wanted, got, strict=True), strict=True))


def _apart(wanted: Any, got: Any, eps: float) -> Record:
    """Share that is equal to the last bit, differences in units of eps of the wanted value, and how many have
    an answer on one side only."""
    both = np.isfinite(wanted) & np.isfinite(got)
    lone = int(np.sum(np.isfinite(wanted) != np.isfinite(got)))
    wanted, got = wanted[both], got[both]
    units = np.abs(got - wanted) / (eps * np.maximum(np.abs(wanted), LEAST[eps]))
    same = float(np.mean(got == wanted))
    worst = float(units.max())
    return {"equal": same, "p999": float(np.quantile(units, 0.999)), "worst": worst, "one_sided": lone}


def copy_gbs() -> float:
    """Bytes read and written by a copy of 4 GB, in GB/s."""
    source = torch.empty(2**29, dtype=torch.float64, device="cuda")
    target = torch.empty_like(source)
    ms = Clock().ms(lambda: target.copy_(source))
    return 2 * source.nbytes / ms / 1e6


def speed(task: str, dtype: str, book: Book, copy: float) -> Record:
    """Kernel and wall times of the pack and of the peer, ratios, and shares of the floors."""
    options, clock = Options.of(book, dtype), Clock()
    count = len(book.strike)
    kernel = {"kernelwright": 1000 * clock.ms(lambda: options.call(task))}
    wall = {"kernelwright": _wall(lambda: _through(book, dtype, task))}
    if count <= SIZES[1]:
        wall["kernelwright cpu"] = _wall(lambda: _on_cpu(book, task))
    failed: Record = {}
    if dtype == "float64":
        for name, make in PEERS.get(task, {}).items():
            _add(kernel, failed, name, lambda make=make: 1000 * clock.ms(make(options)))
        if count <= SIZES[1] and PEERS:
            _add(wall, failed, "fast_vollib torch", lambda: _wall(_public(book, task)))
    width = 8 if dtype == "float64" else 4
    moved = count * width * (len(options.inputs(task)) + RESULTS_OF[task])
    return {
        "kernel_us": kernel, "wall_us": wall, "bytes": moved, "failed": failed,
        "ratio": _multiples(kernel), "wall_ratio": _multiples(wall),
        **_floors(task, dtype, count, moved, kernel["kernelwright"], copy),
    }  # fmt: skip


def _multiples(times: Record) -> Record:
    own = times["kernelwright"]
    return {name: us / own for name, us in times.items() if name != "kernelwright"}


def _add(times: Record, failed: Record, name: str, measure: Callable[[], float]) -> None:
    """A peer's time, or the words with which it failed."""
    try:
        with boundary(EnvironmentFault, name):
            times[name] = measure()
    except EnvironmentFault as error:
        failed[name] = str(error)


def _floors(task: str, dtype: Any, count: int, moved: int, us: float, copy: float) -> Record:
    """Microseconds that memory and 64-bit units need at least, and what share of the time the larger is."""
    memory = moved / copy / 1e3
    mhz = clock_mhz()
    level = {"price": 0, "greeks": 1}.get(task)
    fp64 = None if level is None else resources("evaluate", dtype, level)["fp64"]
    units = torch.cuda.get_device_properties(0).multi_processor_count * FP64_PER_CLOCK
    arithmetic = None if fp64 is None or mhz is None else count * fp64 / units / mhz
    return {
        "memory_floor_us": memory, "fp64_floor_us": arithmetic,
        "share_of_floor": max(memory, arithmetic or 0.0) / us,
    }  # fmt: skip


def _wall(thunk: Callable[[], Any]) -> float:
    """Microseconds of a call, the median of a few after one that is not counted."""
    thunk()
    samples = []
    for _ in range(WALL_ROUNDS):
        begun = time.perf_counter_ns()
        thunk()
        samples.append((time.perf_counter_ns() - begun) / 1e3)
    return statistics.median(samples)


def _through(book: Book, dtype: str, task: str) -> list[Any]:
    """From arrays on the host to arrays on the host, by way of the device."""
    found = Options.of(book, dtype).call(task)
    return [each.cpu().numpy() for each in ([found] if isinstance(found, torch.Tensor) else found)]


def _on_cpu(book: Book, task: str) -> Any:
    contract = (np.where(book.calls, 1.0, -1.0), book.spot, book.strike, book.years, book.rate)
    if task == "implied_volatility":
        return op.implied_volatility(book.price, *contract)
    return getattr(op, task)(*contract, book.volatility)


# The peer: fast_vollib's own Triton kernels, and its public functions ------------------------------


def _columns(options: Options) -> tuple[torch.Tensor, ...]:
    """What its kernels read besides volatility or price: every argument a tensor, flags as bytes.

    Made outside the clock, as are its outputs and its first guess: what is timed is the kernel alone.
    """
    rate = torch.full_like(options.spot, options.rate)
    return options.spot, options.strike, options.years, rate, torch.zeros_like(rate)


def _calls(options: Options) -> torch.Tensor:
    return (options.sign > 0).to(torch.int8)


def _outputs(options: Options, count: int, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    return [torch.empty_like(options.spot, dtype=dtype) for _ in range(count)]


def _blocks(options: Options, block: int) -> tuple[int]:
    return (-(-len(options.spot) // block),)


def _kernels() -> Any:
    return import_module("fast_vollib.backends.triton_kernels")


def _their_price(options: Options) -> Callable[[], Any]:
    spot, strike, years, rate, dividend = _columns(options)
    given = (spot, strike, years, rate, options.volatility, dividend, _calls(options), *_outputs(options, 1))
    kernel, count = _kernels().bsm_price_kernel[_blocks(options, 256)], len(spot)
    return lambda: kernel(*given, count, BLOCK_SIZE=256)


def _their_greeks(options: Options) -> Callable[[], Any]:
    """Its Greeks, without the price."""
    spot, strike, years, rate, dividend = _columns(options)
    given = (spot, strike, years, rate, options.volatility, dividend, _calls(options), *_outputs(options, 5))
    kernel, count = _kernels().bsm_greeks_kernel[_blocks(options, 256)], len(spot)
    return lambda: kernel(*given, count, is_black=False, BLOCK_SIZE=256)


def _their_greeks_and_price(options: Options) -> Callable[[], Any]:
    """Two kernels: what ours gives in one."""
    price, greeks = _their_price(options), _their_greeks(options)
    return lambda: (price(), greeks())


def _their_volatility(options: Options) -> Callable[[], Any]:
    """Eight Halley steps for every option; bisection of those that did not converge is left out."""
    spot, strike, years, rate, dividend = _columns(options)
    sigma = torch.full_like(spot, 0.3)
    given = (options.price, spot, strike, years, rate, dividend, _calls(options), sigma,
             *_outputs(options, 2, torch.int8))  # fmt: skip
    kernel, count = _kernels().bsm_iv_halley_kernel[_blocks(options, 256)], len(spot)
    return lambda: kernel(*given, count, BLOCK_SIZE=256)


def _their_jackel(options: Options) -> Callable[[], Any]:
    """Its "Let's Be Rational" takes one forward and one expiry: given those of the first option."""
    module = import_module("fast_vollib.jackel.triton_kernels")
    forward, years = float(options.spot[0]), float(options.years[0])
    paid = op.price(options.sign, forward, options.strike, years, 0.0, options.volatility, model="black")
    given = (
        paid,
        options.strike,
        _calls(options),
        *_outputs(options, 1),
        forward,
        years,
        years**-0.5,
        years**0.5,
    )
    kernel, count = module.jackel_iv_kernel[_blocks(options, 512)], len(options.spot)
    return lambda: kernel(*given, count, BLOCK_SIZE=512)


PEERS: dict[str, dict[str, Callable[[Options], Callable[[], Any]]]] = (
    {
        "price": {"fast_vollib triton": _their_price},
        "greeks": {
            "fast_vollib triton, price too": _their_greeks_and_price,
            "fast_vollib triton, no price": _their_greeks,
        },
        "implied_volatility": {
            "fast_vollib triton halley": _their_volatility,
            "fast_vollib triton jackel, one expiry": _their_jackel,
        },
    }
    if find_spec("fast_vollib") is not None
    else {}
)
"""By task: what to time, given a book on the device."""


def _public(book: Book, task: str) -> Callable[[], Any]:
    module = import_module("fast_vollib")
    plain = {"return_as": "numpy", "backend": "torch"}
    market = (book.spot, book.strike, book.years, book.rate)
    if task == "implied_volatility":
        return lambda: module.fast_implied_volatility(book.price, *market, book.flags, **plain)
    if task == "price":
        return lambda: module.fast_black_scholes(book.flags, *market, book.volatility, **plain)
    return lambda: (
        module.fast_black_scholes(book.flags, *market, book.volatility, **plain),
        module.get_all_greeks(book.flags, *market, book.volatility, backend="torch", return_as="dict"),
    )
