"""Options that several commands share, and how a document is printed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def as_json(function: F) -> F:
    """`--json`: print one JSON document on stdout and nothing else."""
    return click.option("--json", "json_", is_flag=True, help="Print one JSON document on stdout.")(function)


def html(function: F) -> F:
    """`--html`: the result as a page, beside what is printed."""
    return click.option(
        "--html", type=click.Path(path_type=Path, dir_okay=False, writable=True), metavar="FILE",
        help="Also write the result to FILE as one page of HTML.",
    )(function)  # fmt: skip


def target(function: F) -> F:
    """`--target`: where the kernel is to run."""
    return click.option(
        "--target", default="cpu", show_default=True, metavar="T", help="cpu, cuda, or cuda:sm_90."
    )(function)


def problem_inputs(function: F) -> F:
    """`--inputs` and `--mode`: how the reference is called."""
    function = click.option(
        "--inputs", metavar="MODULE:FUNCTION", help="Function that returns example inputs (module sources)."
    )(function)
    return click.option(
        "--mode",
        type=click.Choice(["train", "eval"]),
        help="Mode of the module. Default: train for problem files, else as the module is.",
    )(function)


def print_json(document: Any) -> None:
    """One JSON document on stdout. JSON has no infinities and no NaN: they are printed as null."""
    click.echo(json.dumps(_finite(document), indent=2, default=str, allow_nan=False))


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return None
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
    return value
