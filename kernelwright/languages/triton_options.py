"""Options of a Triton kernel: `name=value` strings, split into compiler settings and constants."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from kernelwright.languages.base import Refused
from kernelwright.languages.triton_source import JitFunction

_SETTINGS = ("num_warps", "num_stages", "maxnreg", "enable_fp_fusion")


@dataclass(frozen=True)
class TritonOptions:
    """What `Kernel.options` says."""

    compiler: dict[str, Any]
    values: dict[str, Any]
    """Constants by parameter name, or by `entry.parameter`."""
    aligned: frozenset[str]

    def constants(self, function: JitFunction) -> dict[str, Any]:
        """Values of the function's `tl.constexpr` parameters; raises `Refused` if one is missing."""
        found: dict[str, Any] = {}
        for name in function.parameters:
            if name not in function.constants:
                continue
            for key in (f"{function.name}.{name}", name):
                if key in self.values:
                    found[name] = self.values[key]
                    break
            else:
                if name not in function.defaulted:
                    raise Refused(
                        f"{function.name}: no value for tl.constexpr '{name}'; add the option '{name}=...'"
                    )
        return found

    def check_used(self, functions: list[JitFunction]) -> None:
        """Every name means a parameter of some entry. Raises `Refused`."""
        constants = {name for function in functions for name in function.constants}
        constants |= {f"{function.name}.{name}" for function in functions for name in function.constants}
        runtime = {name for function in functions for name in function.runtime}
        for given, allowed, what in (
            (self.values, constants, "tl.constexpr"),
            (self.aligned, runtime, "run-time"),
        ):
            for name in given:
                if name not in allowed:
                    have = ", ".join(sorted(allowed)) or "none"
                    raise Refused(f"option for '{name}': no {what} parameter is called so; there are: {have}")


def parse_options(options: tuple[str, ...]) -> TritonOptions:
    """Split and convert. Raises `Refused` for what is not `name=value`."""
    compiler: dict[str, Any] = {"enable_fp_fusion": True}
    values: dict[str, Any] = {}
    aligned: frozenset[str] = frozenset()
    for option in options:
        name, equals, text = option.partition("=")
        if not equals or not name:
            raise Refused(f"option {option!r} is not name=value, such as num_warps=8 or BLOCK=1024")
        if name == "aligned":
            aligned = frozenset(text.split(","))
        elif name in _SETTINGS:
            compiler[name] = _setting(name, text)
        else:
            values[name] = _literal(option, text)
    return TritonOptions(compiler, values, aligned)


def _setting(name: str, text: str) -> int | bool:
    value = _literal(f"{name}={text}", text)
    if name == "enable_fp_fusion" and isinstance(value, bool):
        return value
    if name != "enable_fp_fusion" and type(value) is int and 1 <= value <= 255:
        return value
    raise Refused(f"option '{name}={text}': num_* and maxnreg take 1 to 255, enable_fp_fusion true or false")


def _literal(option: str, text: str) -> Any:
    try:
        value = json.loads(text)
    except ValueError:
        raise Refused(
            f"option {option!r}: the value must be a number, true, false or a quoted string"
        ) from None
    if not isinstance(value, int | float | str):
        raise Refused(f"option {option!r}: the value must be a number, true, false or a quoted string")
    return value
