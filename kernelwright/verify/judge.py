"""Compare one output of a kernel with its expectation, by the precision contract.

Finite values by distance (norm-wise and element-wise); values that are not finite must be as
eager's or as the oracle's; integers and booleans must equal either. Works in slices, so that
temporaries stay in cache.

Not covered: strided outputs (the plan's outputs are contiguous) and who ran the kernel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from kernelwright.core.verdict import ReasonKind
from kernelwright.verify.expectation import Expectation, slices

POISON = 0xFF
"""Byte that `execute.runner` fills outputs with before a kernel runs: what is left was never written."""
WRONG = 0.01
"""Relative norm-wise error from which a wrong result is called an answer, not a precision, failure."""


@dataclass
class Finding:
    """What the comparison of one output found."""

    name: str
    kind: ReasonKind | None = None
    """None: within the contract."""
    message: str = ""
    figures: dict[str, Any] = field(default_factory=dict)

    def fail(self, kind: ReasonKind, message: str) -> None:
        """Record the first failure only."""
        if self.kind is None:
            self.kind, self.message = kind, f"{self.name}: {message}"


@dataclass
class _Sums:
    squares: float = 0.0
    misplaced: int = 0
    """Not finite where neither eager nor the oracle is so, or finite and far from the one that is."""
    spurious: int = 0
    """Not finite where the oracle is finite and eager is not."""
    beyond: int = 0
    worst: tuple[float, int] = (0.0, -1)
    """Largest error over tolerance, and its flat index."""
    first_bad: int = -1


def judge(output: Tensor, expected: Expectation) -> Finding:
    """Compare `output` with `expected`. Devices must agree; raises nothing for a wrong output."""
    finding = Finding(expected.name)
    if output.shape != expected.eager.shape or output.dtype != expected.eager.dtype:
        finding.fail("contract", f"is {_form(output)}, the reference gives {_form(expected.eager)}")
        return finding
    flat = output.detach().contiguous().view(-1)
    if expected.tolerance is None:
        _exact(flat, expected, finding)
    else:
        _near(flat, expected, finding)
    if finding.kind is not None:
        _unwritten(flat, expected, finding)
    return finding


def _exact(output: Tensor, expected: Expectation, finding: Finding) -> None:
    wrong = (output != expected.eager.view(-1)) & (output != expected.oracle.view(-1))
    count = int(wrong.sum())
    finding.figures = {"wrong_elements": count, "elements": output.numel()}
    if count:
        _show(int(wrong.int().argmax()), output, expected, finding)
        finding.fail("answer", f"{count} of {output.numel()} elements differ; {finding.figures['at']}")


def _near(output: Tensor, expected: Expectation, finding: Finding) -> None:
    sums = _Sums()
    for part in slices(output):
        _add_slice(output, expected, part, sums)
    norm = math.sqrt(sums.squares)
    relative = norm / expected.oracle_norm if expected.oracle_norm else (0.0 if norm == 0 else math.inf)
    finding.figures = {
        "elements": output.numel(),
        "relative_error": relative,
        "eager_relative_error": expected.eager_norm / expected.oracle_norm if expected.oracle_norm else 0.0,
        "ratio_to_eager": norm / expected.eager_norm if expected.eager_norm else None,
        "share_of_limit": norm / expected.limit if expected.limit else (0.0 if norm == 0 else math.inf),
        "worst_over_tolerance": sums.worst[0],
        "beyond_tolerance": sums.beyond,
        "not_finite_wrongly": sums.misplaced + sums.spurious,
    }
    where = sums.first_bad if sums.first_bad >= 0 else sums.worst[1]
    if where >= 0:
        _show(where, output, expected, finding)
    _conclude(sums, norm, relative, expected, finding)


def _conclude(sums: _Sums, norm: float, relative: float, expected: Expectation, finding: Finding) -> None:
    at = finding.figures.get("at", "")
    if sums.misplaced > 0 or sums.spurious > expected.eager_spurious:
        count = sums.misplaced + sums.spurious
        finding.fail("answer", f"{count} elements are not finite, or finite, where they must not be; {at}")
    kind: ReasonKind = "answer" if relative > WRONG or sums.worst[0] > 1e4 else "precision"
    if not norm <= expected.limit:
        worst = "" if sums.beyond else "the worst "
        finding.fail(kind, f"{_too_far(norm, relative, expected.limit)}; {worst}{at}")
    if sums.beyond:
        finding.fail(kind, f"{sums.beyond} elements are beyond tolerance; {at}")


def _too_far(norm: float, relative: float, limit: float) -> str:
    """What a norm above its limit means; it may be no number, and there may be nothing to divide it by."""
    if not math.isfinite(norm):
        return "the whole is too far off: its error is too large for float64 to add up"
    times = f"{norm / limit:.3g} times what is allowed" if limit else "where none is allowed"
    if not math.isfinite(relative):
        return (
            f"the whole is too far off: only zeros are expected, and the error's norm is {norm:.3g}, {times}"
        )
    return f"the whole is too far off: its relative error is {relative:.3g}, {times}"


def _add_slice(output: Tensor, expected: Expectation, part: slice, sums: _Sums) -> None:
    assert expected.tolerance is not None
    out, oracle = output[part], expected.oracle.view(-1)[part]
    tolerance = expected.tolerance.view(-1)[part]
    error = (out.double() - oracle).abs_()
    squares = float(torch.dot(error, error))
    worst, index = (error / tolerance).max(0)
    # Finite squares and a worst below 1 leave nothing to look into, unless eager has holes of its own.
    if not (math.isfinite(squares) and float(worst) <= 1 and expected.eager_spurious == 0):
        _look_closer(error, out, expected, part, sums)
        squares = float(torch.dot(error, error))
        ratio = error / tolerance
        sums.beyond += int((ratio > 1).sum())
        worst, index = ratio.max(0)
    sums.squares += squares
    if float(worst) > sums.worst[0]:
        sums.worst = (float(worst), part.start + int(index))


def _look_closer(error: Tensor, out: Tensor, expected: Expectation, part: slice, sums: _Sums) -> None:
    """Judge the elements where something is not finite one by one, and take them out of `error`."""
    eager, oracle = expected.eager.view(-1)[part], expected.oracle.view(-1)[part]
    odd = ~torch.isfinite(error) | (oracle.abs() > torch.finfo(out.dtype).max)
    if expected.eager_spurious:
        odd |= ~torch.isfinite(eager)
    where = odd.nonzero().view(-1)
    if not where.numel():
        return
    assert expected.tolerance is not None
    tolerance = expected.tolerance.view(-1)[part][where]
    error[where] = 0.0
    bad = _not_finite(out[where], eager[where], oracle[where], tolerance, sums)
    if sums.first_bad < 0 and bool(bad.any()):
        sums.first_bad = part.start + int(where[int(bad.int().argmax())])


def _not_finite(out: Tensor, eager: Tensor, oracle: Tensor, tolerance: Tensor, sums: _Sums) -> Tensor:
    """Which of these elements, each with something that is not finite, are wrong; counts them by kind."""
    rounded = oracle.to(out.dtype)
    finite, truly = torch.isfinite(out), torch.isfinite(rounded)
    edge = oracle.abs() + tolerance > torch.finfo(out.dtype).max
    overflowed = torch.isinf(out) & edge & (torch.sign(out) == torch.sign(rounded))
    like_one = _same(out, eager) | (_same(out, rounded) & ~truly) | overflowed
    like_one |= torch.isinf(out) & torch.isnan(eager) & torch.isnan(rounded)  # infinities that did not meet
    odd = ~finite & ~like_one
    centre = torch.where(truly, oracle, eager.double())
    missing = finite & ~torch.isfinite(centre)
    far = finite & ~missing & ((out.double() - centre).abs() > tolerance)
    sums.spurious += int((odd & truly).sum())
    sums.misplaced += int(((odd & ~truly) | missing | far).sum())
    return odd | missing | far


def _same(a: Tensor, b: Tensor) -> Tensor:
    return (torch.isnan(a) & torch.isnan(b)) | (a == b)


def _unwritten(output: Tensor, expected: Expectation, finding: Finding) -> None:
    """Say how many elements still hold the poison; all of them: no work was done.

    Adding to poison gives poison (a NaN), so a kernel that adds to its output looks the same. Nothing is
    said of some elements where the reference gives such bytes itself, as integers of -1 are.
    """
    count = _poisoned(output)
    if count:
        finding.figures["never_written"] = count
    if count == output.numel():
        finding.kind = "work"
        finding.message = (
            f"{finding.name}: the kernel wrote nothing in this call, or only added to what lay there"
        )
    elif count and not _poisoned(expected.eager.view(-1)):
        elements = f"{count} of {output.numel()} elements were not written, or only added to"
        finding.message = f"{finding.name}: {elements}; {finding.message.removeprefix(f'{finding.name}: ')}"


def _poisoned(flat: Tensor) -> int:
    """How many elements consist of the poison's bytes alone."""
    size = flat.element_size()
    return sum(
        int((flat[part].view(torch.uint8).view(-1, size) == POISON).all(1).sum()) for part in slices(flat)
    )


def _show(index: int, output: Tensor, expected: Expectation, finding: Finding) -> None:
    place = tuple(int(part) for part in torch.unravel_index(torch.tensor(index), expected.eager.shape))
    actual, wanted = output[index].item(), expected.oracle.view(-1)[index].item()
    eager = expected.eager.view(-1)[index].item()
    finding.figures |= {
        "where": list(place),
        "actual": plain(actual),
        "expected": plain(wanted),
        "eager": plain(eager),
    }
    finding.figures["at"] = f"at {list(place)}: {actual!r}, expected {wanted!r}"


def plain(value: Any) -> Any:
    """A number that JSON can hold: one that is not finite becomes its name."""
    return value if not isinstance(value, float) or math.isfinite(value) else repr(value)


def _form(tensor: Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {list(tensor.shape)}"
