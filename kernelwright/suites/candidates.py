"""Where candidates are found: published kernels beside the references that they claim to compute.

    folder          each folder in it that holds a reference (`reference.py` or `problem.py`) with kernels
                    beside it, and solutions of definitions; or, with a problem given, all kernel files
    file.jsonl      one JSON object a line, with the text of the reference and of the kernel

Nothing is run here, and a line that cannot be read is a candidate with a reason.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kernelwright.core.config import cache_dir
from kernelwright.core.errors import EnvironmentFault, UsageError, first_line
from kernelwright.core.wire import content_hash
from kernelwright.suites.candidate import Candidate
from kernelwright.suites.exchange.collection import DEFINITION, solutions_in

REFERENCES = ("reference.py", "problem.py")
KERNELS = frozenset({".cpp", ".cc", ".cxx", ".cu", ".py", ".json"})
REFERENCE_KEYS = ("reference", "reference_code", "ref_code", "pytorch_code", "PyTorch_Code_Module")
KERNEL_KEYS = ("kernel", "kernel_code", "custom", "custom_code", "code", "CUDA_Code")
NAME_KEYS = ("name", "problem_name", "Op_Name", "id")


def candidates(
    place: Path, problem: str | None = None, keys: tuple[str | None, str | None] = (None, None)
) -> list[Candidate]:
    """What is found in `place`, in a stable order; UsageError, one line, if that is nothing.

    `keys` name the fields of a JSON line that hold the reference and the kernel; by default known names are
    looked for.
    """
    if not os.path.exists(place):
        raise UsageError(f"nothing to audit: '{place}' does not exist; give a folder or a .jsonl file")
    if place.is_file():
        if place.suffix != ".jsonl":
            raise UsageError(
                f"'{place}' is neither a folder nor a .jsonl file; use `kernelwright verify` for one"
            )
        found = list(_lines(place, keys))
    elif problem is not None:
        found = [
            Candidate(str(path.relative_to(place)), problem, path) for path in _kernels(place.rglob("*"))
        ]
    else:
        found = [*_beside_references(place), *solutions_in(place)]
    if not found:
        wanted = " or ".join(REFERENCES)
        raise UsageError(f"no candidates in '{place}'; put a {wanted} beside the kernels, or give --problem")
    return found


def _beside_references(place: Path) -> Iterator[Candidate]:
    for folder in sorted({place, *(path for path in place.rglob("*") if path.is_dir())}):
        reference = next((folder / name for name in REFERENCES if (folder / name).is_file()), None)
        if reference is not None and not (folder / DEFINITION).is_file():
            for path in _kernels(folder.iterdir()):
                if path != reference:
                    yield Candidate(str(path.relative_to(place)), str(reference), path)


def _kernels(paths: Any) -> list[Path]:
    return sorted(path for path in paths if path.is_file() and path.suffix in KERNELS)


def _lines(file: Path, keys: tuple[str | None, str | None]) -> Iterator[Candidate]:
    with file.open(encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _of_line(f"{file.name}:{number}", line, keys)


def _of_line(place: str, line: str, keys: tuple[str | None, str | None]) -> Candidate:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Candidate(place, "", Path(), f"not a line of JSON: {first_line(error)}")
    if not isinstance(row, dict):
        return Candidate(place, "", Path(), "a line must be a JSON object")
    name = next((str(row[key]) for key in NAME_KEYS if row.get(key) is not None), place)
    texts = [
        _text(row, wanted, known) for wanted, known in zip(keys, (REFERENCE_KEYS, KERNEL_KEYS), strict=True)
    ]
    if texts[0] is None or texts[1] is None:
        what = "reference" if texts[0] is None else "kernel"
        return Candidate(name, "", Path(), f"no text of a {what}; fields: {', '.join(sorted(row)) or 'none'}")
    return _kept(name, texts[0], texts[1])


def _text(row: dict[str, Any], wanted: str | None, known: Sequence[str]) -> str | None:
    names = [wanted] if wanted else known
    return next((row[name] for name in names if isinstance(row.get(name), str)), None)


def _kept(name: str, reference: str, kernel: str) -> Candidate:
    """Both texts as files, in a folder of the cache that is named by their content."""
    if any("\ud800" <= letter <= "\udfff" for letter in reference + kernel):
        return Candidate(name, "", Path(), "half of a surrogate pair in its text, which is no Unicode")
    folder = cache_dir() / "audit" / content_hash([reference, kernel])[:16]
    files = {folder / "reference.py": reference, folder / f"kernel{_suffix(kernel)}": kernel}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise EnvironmentFault(
            f"cannot write {folder}: {error.strerror}; free space or set KERNELWRIGHT_CACHE"
        ) from error
    first, second = files
    return Candidate(name, str(first), second)


def _suffix(text: str) -> str:
    if "class ModelNew" in text or "@triton.jit" in text:
        return ".py"
    return ".cu" if "__global__" in text else ".cpp"
