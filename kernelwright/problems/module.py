"""Modules and functions of the user's own: by importable path, or as a live object.

    mypkg.model:Block      a class made without arguments, a module, or a function; inputs from mypkg.model:fn
    a live nn.Module       pickled by value into the data directory, so that a worker can load it again

A module keeps the mode (`training`) that it has, unless another is asked for. Its constructor's
arguments are not known, so its weights keep their shapes and axes are sizes of its inputs.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import importlib.util
import inspect
import io
import os
import pickle
import sys
import tempfile
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.core.config import data_dir
from kernelwright.core.errors import ProblemError, boundary, did_you_mean
from kernelwright.core.expr import Expr
from kernelwright.core.problem import Entry, Mode
from kernelwright.problems.example import like_example, overlapping, shapes_at, size_groups
from kernelwright.problems.normalize import normalize

Shapes = Sequence[tuple[Expr, ...]]


class ExampleOrigin:
    """What both kinds share: a callable, and example arguments that are resized."""

    def __init__(self, entry: Entry, mode: Mode | None, name: str, shapes: Shapes = ()) -> None:
        self.entry = entry
        self.name = name
        self.text = ""
        self.identity = ""
        self._asked_mode = mode
        self._shapes = shapes
        self.mode: Mode = mode or self._own_mode()
        with torch.device("meta"):
            leaves = pytree.tree_leaves(self._example())
        self._tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        self._groups = size_groups(self._tensors)

    def sizes(self) -> dict[str, int]:
        """Sizes of the example's dimensions, by name."""
        return {name: group.size for name, group in self._groups.items()}

    def depends_on_forward(self) -> bool:
        """Any input can be resized, so only what the reference accepts is an axis."""
        return True

    def excludes(self, name: str) -> frozenset[str]:
        """Groups that share a dimension with this one."""
        return overlapping(self._groups, name)

    def init_args(self) -> tuple[str, ...]:
        """Not known for an object that exists."""
        return ()

    def init_values(self, axes: Mapping[str, int]) -> list[Any]:
        """None: how the object was made is not known."""
        return []

    def module(self, axes: Mapping[str, int]) -> Callable[..., Any]:
        """A fresh copy of the reference on the device of the context; the same at all sizes."""
        made = self._fresh()
        if isinstance(made, torch.nn.Module):
            made = made.to(torch.get_default_device())
            if self._asked_mode is not None:
                made.train(self._asked_mode == "train")
        return made

    def arguments(self, axes: Mapping[str, int]) -> list[Any]:
        """The example's structure at these sizes, with fresh values."""
        device = torch.get_default_device()
        example = self._example()
        shapes = self._shapes or shapes_at(self._tensors, self._groups, axes)
        unchanged = [tuple(map(int, tensor.shape)) for tensor in self._tensors] == list(shapes)
        if unchanged and self._draws_itself():
            return example
        return like_example(example, shapes, axes, device)

    def _own_mode(self) -> Mode:
        made = self._fresh()
        return "eval" if isinstance(made, torch.nn.Module) and not made.training else "train"

    def _fresh(self) -> Callable[..., Any]:
        with boundary(ProblemError, f"{self.name} cannot be made"):
            return self._made()

    def _made(self) -> Callable[..., Any]:
        raise NotImplementedError

    def _example(self) -> list[Any]:
        raise NotImplementedError

    def _draws_itself(self) -> bool:
        """Whether `_example` gives other values under another seed."""
        raise NotImplementedError


class PathOrigin(ExampleOrigin):
    """`module:attribute`, with inputs from another `module:attribute`."""

    def __init__(self, entry: Entry, mode: Mode | None, *, root: str = "", shapes: Shapes = ()) -> None:
        self.root = root or str(Path.cwd())
        self._found = attribute(entry.location, self.root)
        self._inputs = attribute(entry.inputs, self.root)
        super().__init__(entry, mode, entry.location.rpartition(":")[2], shapes)
        self.text = source_text(self._found)
        self.identity = f"{entry.location} {normalize(self.text) if self.text else ''}"

    def _made(self) -> Callable[..., Any]:
        found = self._found
        if isinstance(found, type):
            found = found()
        elif isinstance(found, torch.nn.Module):
            found = copy.deepcopy(found)
        if not callable(found):
            raise ProblemError(
                f"{self.entry.location} is a {type(found).__name__}; "
                "name a module class, a module or a function"
            )
        made: Callable[..., Any] = found
        return made

    def _example(self) -> list[Any]:
        with boundary(ProblemError, f"inputs {self.entry.inputs} raise"):
            given = self._inputs() if callable(self._inputs) else self._inputs
        return as_arguments(given)

    def _draws_itself(self) -> bool:
        return callable(self._inputs)


class ObjectOrigin(ExampleOrigin):
    """A pickled (module or function, example inputs)."""

    def __init__(
        self, entry: Entry, mode: Mode | None, name: str, *, shapes: Shapes = (), held: Any = None
    ) -> None:
        """`held` is what the file was made from, where this process has it."""
        pickled = Path(entry.location).read_bytes()
        if held is None:
            with boundary(ProblemError, f"the pickled problem {entry.location} cannot be loaded"):
                held = unpickled(pickled)
        self._object, self._inputs = held
        super().__init__(entry, mode, name, shapes)
        self.text = source_text(self._object)
        self.identity = hashlib.sha256(pickled).hexdigest()

    @classmethod
    def keep(cls, reference: Callable[..., Any], inputs: Any, mode: Mode | None) -> ObjectOrigin:
        """Pickle a live object into the data directory, by content; what is opened is a copy of it."""
        name = getattr(reference, "__name__", type(reference).__name__)
        payload = pickled_by_value(reference, inputs)
        folder = data_dir() / "objects"
        path = folder / f"{hashlib.sha256(payload).hexdigest()[:32]}.pkl"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                file.write(payload)
            os.replace(file.name, path)
        with boundary(ProblemError, f"{name} cannot be copied"):
            held = copy.deepcopy((reference, inputs))
        return cls(Entry(kind="object", location=str(path)), mode, name, held=held)

    def _made(self) -> Callable[..., Any]:
        made: Callable[..., Any] = copy.deepcopy(self._object)
        return made

    def _example(self) -> list[Any]:
        with boundary(ProblemError, "the function that makes example inputs raises"):
            given = self._inputs() if callable(self._inputs) else self._inputs
        return as_arguments(given)

    def _draws_itself(self) -> bool:
        return callable(self._inputs)


def as_arguments(given: Any) -> list[Any]:
    """Positional arguments: a tuple or list is spread, anything else is the only argument."""
    return list(given) if isinstance(given, list | tuple) else [given]


def attribute(path: str, root: str) -> Any:
    """What `module:attribute` or `file.py:attribute` names; ProblemError says which part is unknown."""
    module_name, _, dotted = path.partition(":")
    if not module_name or not dotted:
        raise ProblemError(f"'{path}' is not of the form module:attribute (or file.py:attribute)")
    value: Any = _module(module_name, root)
    for part in dotted.split("."):
        if not hasattr(value, part):
            allowed = [name for name in vars(value) if not name.startswith("_")]
            raise ProblemError(f"'{module_name}' has no attribute '{part}'; {did_you_mean(part, allowed)}")
        value = getattr(value, part)
    return value


def _module(name: str, root: str) -> ModuleType:
    if root not in sys.path:
        sys.path.append(root)
    with boundary(ProblemError, f"module '{name}' cannot be imported"):
        if not name.endswith(".py"):
            return importlib.import_module(name)
        path = Path(root) / name
        # A name of its own: the file may be called as a module that others have imported.
        digest = hashlib.sha256(os.fsencode(path.absolute())).hexdigest()[:12]
        spec = importlib.util.spec_from_file_location(f"kernelwright_file_{path.stem}_{digest}", path)
        if spec is None or spec.loader is None:
            raise ProblemError(f"'{name}' is not a Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        return module


def source_text(found: Any) -> str:
    """Source of a function or of a module's class; empty where Python does not have it."""
    target = type(found) if isinstance(found, torch.nn.Module) else found
    try:
        return textwrap.dedent(inspect.getsource(target))
    except (OSError, TypeError):
        return ""


def pickled_by_value(reference: Callable[..., Any], inputs: Any) -> bytes:
    """A pickle that needs none of the user's own modules to be loaded again."""
    import cloudpickle  # type: ignore[import-untyped]

    modules = reference.modules() if isinstance(reference, torch.nn.Module) else ()
    defining = {getattr(item, "__module__", None) for item in [reference, inputs, *map(type, modules)]}
    own = [sys.modules[name] for name in defining if name in sys.modules and _is_users(sys.modules[name])]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        with boundary(
            ProblemError, f"{type(reference).__name__} cannot be pickled, so that no worker could load it"
        ):
            payload: bytes = cloudpickle.dumps((reference, inputs))
            return payload
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


def unpickled(payload: bytes) -> Any:
    """What `pickled_by_value` wrote, with classes of its own.

    cloudpickle by itself finds classes again that were pickled in this process, and writes their pickled
    state into them: the user's own classes would get methods that read copies of their modules' globals.
    """
    return _Apart(io.BytesIO(payload)).load()


class _Apart(pickle.Unpickler):
    """Makes each class anew: those that make one get no number to find it by."""

    def find_class(self, module: str, name: str) -> Any:
        """The global, or what makes a class from its pickled parts."""
        found = super().find_class(module, name)
        if name not in ("_make_skeleton_class", "_make_skeleton_enum"):
            return found
        return lambda *parts: found(*parts[:-2], None, parts[-1])


def _is_users(module: ModuleType) -> bool:
    """Whether a module is neither of the standard library nor installed."""
    file = getattr(module, "__file__", None)
    if module.__name__ == "__main__" or file is None:
        return False
    installed = ("site-packages", "dist-packages", str(Path(os.__file__).parent))
    return not any(part in file for part in installed)
