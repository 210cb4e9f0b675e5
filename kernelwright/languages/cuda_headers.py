"""Headers for CUDA C++: which may be included, where they are, and small ones that we supply.

NVRTC knows CUDA's built-in functions but brings no header files. They come with the toolkit and
with the wheels that torch's CUDA builds depend on. A kernel that includes nothing needs none.
"""

from __future__ import annotations

import os
import re
import sys
from functools import lru_cache
from pathlib import Path

from kernelwright.languages.guard import Headers

_SUPPLIED = "stdint.h cstdint stddef.h cstddef math.h cmath float.h cfloat limits.h climits"
_TOOLKIT = """
cuda.h cuda_fp16.h cuda_bf16.h cuda_fp8.h cuda_fp6.h cuda_fp4.h mma.h math_constants.h vector_types.h
vector_functions.h cooperative_groups.h cooperative_groups/ cuda_pipeline.h cuda_pipeline_primitives.h
cuda_awbarrier.h cuda_awbarrier_primitives.h cuda_runtime.h cuda/ nv/target
"""
HEADERS = Headers(
    frozenset(f"{_SUPPLIED} {_TOOLKIT}".split()),
    "cuda_fp16.h, cuda_bf16.h, cuda_fp8.h, mma.h, cooperative_groups.h, cooperative_groups/*, "
    "cuda_pipeline.h, cuda.h, cuda/*, cstdint, cstddef, cmath, cfloat, climits",
)

_INTEGERS = """#pragma once
typedef signed char int8_t; typedef short int16_t; typedef int int32_t; typedef long long int64_t;
typedef unsigned char uint8_t; typedef unsigned short uint16_t; typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
namespace std { using ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using ::uint8_t;
using ::uint16_t; using ::uint32_t; using ::uint64_t; }
"""
_FLOATS = """#pragma once
#define FLT_MAX 3.402823466e+38f
#define FLT_MIN 1.175494351e-38f
#define FLT_EPSILON 1.192092896e-07f
#define DBL_MAX 1.7976931348623157e+308
#define DBL_MIN 2.2250738585072014e-308
#define DBL_EPSILON 2.2204460492503131e-16
"""
_LIMITS = """#pragma once
#define INT_MAX 2147483647
#define INT_MIN (-INT_MAX - 1)
#define UINT_MAX 4294967295u
#define LLONG_MAX 9223372036854775807ll
#define LLONG_MIN (-LLONG_MAX - 1)
"""
_BUILT_IN = "#pragma once\n"
SUPPLIED = {
    "stdint.h": _INTEGERS, "cstdint": _INTEGERS, "float.h": _FLOATS, "cfloat": _FLOATS, "limits.h": _LIMITS,
    "climits": _LIMITS, "stddef.h": _BUILT_IN, "cstddef": _BUILT_IN, "math.h": _BUILT_IN, "cmath": _BUILT_IN,
}  # fmt: skip
"""Text of the standard headers that NVRTC lacks: sizes, limits, and empty ones for what is built in."""

_INCLUDES = re.compile(r"^\s*#\s*include\s*[<\"]([^>\"]+)", re.MULTILINE)


def needs_toolkit(texts: list[str]) -> str | None:
    """The first header in these sources that has to be found on this machine."""
    allowed = HEADERS.names - set(SUPPLIED)
    for text in texts:
        for name in _INCLUDES.findall(text):
            if name in allowed or name.startswith(("cuda/", "cooperative_groups/")):
                return str(name)
    return None


def include_dirs() -> tuple[str, ...]:
    """Directories to pass with `-I`; empty where this machine has no CUDA headers."""
    return _find(os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "", tuple(sys.path))


def headers_version(directories: tuple[str, ...]) -> str:
    """`CUDA_VERSION` of the headers found, as part of a build's identity."""
    for directory in directories:
        header = Path(directory, "cuda.h")
        if header.is_file():
            found = re.search(r"#define CUDA_VERSION (\d+)", header.read_text(errors="replace"))
            return f"headers {found.group(1)}" if found else "headers"
    return "headers " + "|".join(directories) if directories else "no headers"


@lru_cache
def _find(home: str, search: tuple[str, ...]) -> tuple[str, ...]:
    wheels = [Path(entry, "nvidia", name, "include") for entry in search for name in ("cu13", "cuda_runtime")]
    roots = [*([Path(home, "include")] if home else []), *wheels, Path("/usr/local/cuda/include")]
    complete = [root for root in roots if (root / "cuda_fp16.h").is_file()]
    for root in complete:
        target = next((place for place in (root, root / "cccl") if (place / "nv" / "target").is_file()), None)
        if target:
            return tuple(dict.fromkeys([str(root), str(root / "cccl")]))
    loose = [
        place for root in roots for place in (root, root / "cccl") if (place / "nv" / "target").is_file()
    ]
    return tuple(str(root) for root in [*complete[:1], *loose[:1]])
