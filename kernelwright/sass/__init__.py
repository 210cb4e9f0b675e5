"""Machine code of NVIDIA GPUs, read: which instructions a kernel has, and in which types they compute.

    read_code(cubin) -> Code      through a disassembler; raises `Unreadable` with the reason
    code.sections                 what each kernel computes with, and how often each instruction stands there

Knows nothing of problems and judges nothing (`verify.provenance` does).
"""

from kernelwright.sass.code import Code, Section, Use
from kernelwright.sass.listing import Unreadable
from kernelwright.sass.read import read_code

__all__ = ["Code", "Section", "Unreadable", "Use", "read_code"]
