"""Languages: a `Kernel` becomes a `Build`, through a cache on disk.

    build(kernel, target)                  compile, or find what was compiled before
    LANGUAGES.get("cuda")().unavailable(target)
    read_kernel(path, problem, target)     a user's .cpp, .cu, .py or .json file, or a published folder
    write_kernel(kernel, directory)        publish a kernel as a folder that `read_kernel` reads back

A kernel that does not compile is data: a `Build` with status `failed` and the compiler's words.
Only a missing compiler, header or disk raises. Nothing here loads or runs what was built.
"""

from kernelwright.languages.base import LANGUAGES, Compiled, Language, Refused, build
from kernelwright.languages.kernel_file import read_kernel, write_kernel

__all__ = ["LANGUAGES", "Compiled", "Language", "Refused", "build", "read_kernel", "write_kernel"]
