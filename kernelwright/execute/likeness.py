"""What a kernel took from its module as constant: parts, their classes, modes, plain attributes and hooks.

The graph that a kernel computes has them built in. Who sets `norm.eps`, puts another activation in, hooks a
part, gives a layer the bias that it had not, or calls `eval()` on it changes what the module computes, and
the kernel does not follow.

    wanted = likeness(module); watch = Watch(module)
    watch.holds()       # at each call: a few microseconds a part; where it fails, likeness(module) decides

What a part reads around itself counts too, as far as it is plain: attributes of its classes, of objects that
it holds (a config), and globals that its `forward` names (`surroundings`).

Not covered: globals that other functions read, and objects inside of objects.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import is_, itemgetter
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import torch

_PLAIN = (bool, int, float, str, type(None), torch.dtype, FunctionType, BuiltinFunctionType)
_CONTAINERS = (tuple, list, dict, set, frozenset)
_VALUES = (bool, int, float, str, type(None), torch.dtype)
_DEEP, _LONG = 4, 256
"""How deep containers are looked into, and how many items of each."""
_OF_EVERY_MODULE = frozenset(vars(torch.nn.Module())) - {"training"}
_OF_COMPILERS = frozenset({"_is_torch_compile"})
"""What `torch.compile` leaves on a module, which computes as before."""
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")
Likeness = tuple[Any, ...]


def likeness(original: Callable[..., Any], training: bool | None = None) -> Likeness:
    """Something that is equal as long as the module is the same but for its tensors.

    With `training`, as if all parts were in that mode.
    """
    if not isinstance(original, torch.nn.Module):
        return ()
    return tuple(
        (
            *(name, type(part), _code(part), _hooks(part), _absent(part)),
            *(tuple(_constants(part, training)), tuple(_read_around(part))),
        )
        for name, part in original.named_modules()
    )


class Watch:
    """Whether a module is still as it was when this was made, part by part and name by name."""

    def __init__(self, original: Callable[..., Any]) -> None:
        parts = list(original.modules()) if isinstance(original, torch.nn.Module) else []
        self._seen = [
            (
                part,
                (type(part), type(part).forward),
                len(vars(part)),
                list(part._modules.items()),
                (_hooks(part), _absent(part)),
                [(name, value, _frozen(value)) for name, value in _attributes(part)],
            )
            for part in parts
        ]
        around = {
            (id(mapping), names): (mapping, itemgetter(*names, names[0]))
            for part in parts
            for mapping, names in surroundings(part)
        }
        self._around = [(mapping, getter, getter(mapping)) for mapping, getter in around.values()]

    def holds(self) -> bool:
        """False where anything is another than it was, in a way that matters or not."""
        for part, kind, size, parts, tensors, constants in self._seen:
            held = vars(part)
            if (type(part), type(part).forward) != kind or len(held) != size:
                return False
            if (_hooks(part), _absent(part)) != tensors or list(held["_modules"].items()) != parts:
                return False
            for name, value, frozen in constants:
                now = held.get(name, self)
                if now is not value and (type(now) is not type(value) or _frozen(now) != frozen):
                    return False
                if isinstance(value, _CONTAINERS) and _frozen(now) != frozen:
                    return False
        try:
            return all(all(map(is_, getter(mapping), seen)) for mapping, getter, seen in self._around)
        except KeyError:
            return False


def surroundings(part: torch.nn.Module) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...]]]:
    """Where else a part may have read plain values, and their names there."""
    own = [kind for kind in type(part).__mro__ if not kind.__module__.startswith("torch.")]
    for kind in own:
        yield from _plain_in(vars(kind), vars(kind))
    for value in vars(part).values():
        if not isinstance(value, (torch.Tensor, ModuleType)) and not callable(value):
            held = getattr(
                value, "__dict__", {}
            )  # of a config, say; what is called counts its calls, perhaps
            yield from _plain_in(held, held)
    forward = type(part).forward
    if isinstance(forward, FunctionType):
        yield from _plain_in(forward.__globals__, forward.__code__.co_names)


def _plain_in(
    mapping: Mapping[str, Any], names: Iterable[str]
) -> Iterator[tuple[Mapping[str, Any], tuple[str, ...]]]:
    plain = (name for name in names if isinstance(mapping.get(name, mapping), _VALUES))
    found = tuple(name for name in plain if not name.startswith("__"))
    if found:
        yield mapping, found


def _read_around(part: torch.nn.Module) -> Iterator[tuple[tuple[str, Any], ...]]:
    for mapping, names in surroundings(part):
        yield tuple((name, _frozen(mapping[name])) for name in names)


def _hooks(part: torch.nn.Module) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(getattr(part, name)) for name in _HOOKS)


def _code(part: torch.nn.Module) -> bytes:
    """What the class computes, as bytes that are equal for equal code; empty for what is not Python's."""
    code = getattr(type(part).forward, "__code__", None)
    return marshal.dumps(code, 2) if code is not None else b""


def _absent(part: torch.nn.Module) -> tuple[tuple[str, ...], ...]:
    """Names of parameters and buffers that a part could have and has not, such as a bias."""
    return tuple(
        tuple(name for name, tensor in held.items() if tensor is None)
        for held in (part._parameters, part._buffers)
    )


def _constants(part: torch.nn.Module, training: bool | None) -> Iterator[tuple[str, Any]]:
    for name, value in _attributes(part):
        yield name, _frozen(training if name == "training" and training is not None else value)


def _attributes(part: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    """Attributes that a graph may have built in."""
    for name, value in vars(part).items():
        plain = isinstance(value, _PLAIN) or (isinstance(value, _CONTAINERS) and len(value) <= _LONG)
        if plain and name not in _OF_EVERY_MODULE and name not in _OF_COMPILERS:
            yield name, value


def _frozen(value: Any, depth: int = _DEEP) -> Any:
    """Equal for plain values that are equal, and for containers of these; of others the type alone counts."""
    if isinstance(value, _PLAIN):
        return type(value).__name__, value
    if isinstance(value, _CONTAINERS) and depth and len(value) <= _LONG:
        if isinstance(value, dict):
            return "dict", tuple((_frozen(key, 0), _frozen(item, depth - 1)) for key, item in value.items())
        ordered = value if isinstance(value, (tuple, list)) else sorted(value, key=repr)
        return type(value).__name__, tuple(_frozen(item, depth - 1) for item in ordered)
    return type(value).__name__
