"""`render`: a template and what it shows become one page, with style and script inside and nothing outside.

All text is escaped by the template engine, because names, messages, sources and evidence are others' text.
The page's own policy forbids everything that it does not bring itself, and any script but ours.
"""

from __future__ import annotations

import base64
import hashlib
import math
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

import kernelwright
from kernelwright.core.errors import EnvironmentFault, UsageError

TEMPLATES = Path(__file__).parent / "templates"


def render(template: str, **shown: Any) -> str:
    """The page of a template in `templates/`. A name that the template needs and is not given raises."""
    return _engine().get_template(template).render(version=kernelwright.__version__, **shown)


def write_page(file: Path, text: str) -> None:
    """Write a page; UsageError, one line, if `file` is no place for one."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8", errors="replace")
    except (IsADirectoryError, NotADirectoryError, FileExistsError) as error:
        raise UsageError(f"cannot write a page to '{file}': {error.strerror}; give a file's path") from error
    except OSError as error:
        raise EnvironmentFault(f"cannot write a page to '{file}': {error.strerror}; free space") from error


@lru_cache(maxsize=1)
def _engine() -> jinja2.Environment:
    engine = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    engine.filters |= {
        "time": time_text,
        "ratio": ratio_text,
        "percent": percent_text,
        "interval": interval_text,
    }
    engine.globals |= {
        "style": _inside("style.css"),
        "script": _inside("filter.js"),
        "script_hash": _script_hash(),
    }
    return engine


def _inside(name: str) -> Markup:
    """A file of ours that stands in the page as it is."""
    return Markup((TEMPLATES / name).read_text(encoding="utf-8").strip())


def _script_hash() -> str:
    digest = hashlib.sha256(str(_inside("filter.js")).encode()).digest()
    return base64.b64encode(digest).decode()


def time_text(us: float | None) -> str:
    """Microseconds with a unit that a person reads: `12.3 us`, `4.57 ms`, `1.20 s`."""
    if us is None or not math.isfinite(us):
        return "–"
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if us >= size:
            return f"{us / size:.3g} {unit}" if us < 1000 * size else f"{us / size:,.0f} {unit}"
    return f"{us:.3g} us"


def ratio_text(value: float | None) -> str:
    """A speed-up: `1.43x`."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.2f}x"


def percent_text(value: float | None) -> str:
    """A share: `71 %`."""
    return "–" if value is None or not math.isfinite(value) else f"{100 * value:.3g} %"


def interval_text(ci: Any, form: str = "ratio") -> str:
    """A 95 % interval: `1.31 to 1.55`, or of times."""
    if not ci:
        return "–"
    low, high = (time_text(end) if form == "time" else f"{end:.3f}" for end in ci)
    return f"{low} to {high}"
