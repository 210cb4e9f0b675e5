"""Compile one CUDA C++ source with NVRTC. Run as a script in a process of its own.

NVRTC is a library that parses whatever a candidate wrote; a crash, a hang or its memory must not
be ours. Reads `kw_request.json` in the working directory, writes `kernel.cubin` and
`kw_reply.json`. Imports nothing of this package.
"""

import json
from pathlib import Path
from typing import Any


def main() -> None:
    """Answer the request in the working directory."""
    request = json.loads(Path("kw_request.json").read_text(encoding="utf-8"))
    try:
        from cuda.bindings import nvrtc  # type: ignore[import-untyped]
    except ImportError as error:
        reply = {"status": "lacking", "log": f"cuda.bindings cannot be imported: {error}"}
    else:
        reply = compile_source(nvrtc, request)
    Path("kw_reply.json").write_text(json.dumps(reply), encoding="utf-8")


def compile_source(nvrtc: Any, request: dict[str, Any]) -> dict[str, str]:
    """`built` or `failed` with NVRTC's log, `broken` for its other errors, `lacking` without NVRTC."""
    names = [name.encode() for name in request["headers"]]
    texts = [text.encode() for text in request["headers"].values()]
    options = [option.encode() for option in request["options"]]
    error, program = nvrtc.nvrtcCreateProgram(
        request["source"].encode(), request["name"].encode(), len(names), texts, names
    )
    if error != nvrtc.nvrtcResult.NVRTC_SUCCESS:
        return {"status": "lacking", "log": f"NVRTC cannot make a program: {error.name}"}
    (error,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    log = _fetch(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, program)
    text = log.rstrip(b"\0 ").decode("utf-8", "replace")
    if error == nvrtc.nvrtcResult.NVRTC_SUCCESS:
        Path("kernel.cubin").write_bytes(_fetch(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, program))
        return {"status": "built", "log": text}
    if error == nvrtc.nvrtcResult.NVRTC_ERROR_COMPILATION:
        return {"status": "failed", "log": text}
    return {"status": "broken", "log": f"NVRTC failed with {error.name}\n{text}"}


def _fetch(size_of: Any, copy_to: Any, program: Any) -> bytes:
    _, size = size_of(program)
    buffer: bytes = b" " * size
    copy_to(program, buffer)
    return buffer


if __name__ == "__main__":
    main()
