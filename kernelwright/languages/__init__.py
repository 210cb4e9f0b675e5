"""Languages: a `Kernel` becomes a `Build`, through a cache on disk.

    build(kernel, target)                  compile, or find what was compiled before
    LANGUAGES.get("cuda")().unavailable(target)

A kernel that does not compile is data: a `Build` with status `failed` and the compiler's words.
Only a missing compiler, header or disk raises. Nothing here loads or runs what was built.
"""

from kernelwright.languages.base import LANGUAGES, Compiled, Language, Refused, build

__all__ = ["LANGUAGES", "Compiled", "Language", "Refused", "build"]
