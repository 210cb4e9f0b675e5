"""No spelling of a directive opens a file that is not allowed."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from languages_cases import cpp

from kernelwright.core.kernel import Source
from kernelwright.languages import Refused
from kernelwright.languages.cpp_headers import HEADERS
from kernelwright.languages.cuda_headers import HEADERS as CUDA_HEADERS
from kernelwright.languages.guard import check_includes, check_paths, reads_files

SECRET = "not_allowed.h"
HOSTILE = [
    '#include "{}"',
    "#include <{}>",
    "  #  include  <{}>",
    "#include\t<{}>",
    "%:include <{}>",
    "#/**/include <{}>",
    "#include/**/<{}>",
    "#/* a\n b */include <{}>",
    '/* */ #include "{}"',
    'int a; /*\n*/ #include "{}"',
    '#in\\\nclude "{}"',
    "#\\\n include <{}>",
    "#include\\\n<{}>",
    '#include_next "{}"',
    '#import "{}"',
    '#embed "{}"',
    "#define X <{}>\n#include X",
    "#if __has_include(<{}>)\n#endif",
    '#include "../{}"',
    '#include "./{}"',
    '#include "/tmp/{}"',
    "#include <vector/../{}>",
    'const char *r = R"(/*)";\n#include "{}"\nconst char *s = R"(*/)";',
]


@pytest.mark.parametrize("form", HOSTILE)
@pytest.mark.parametrize("headers", [HEADERS, CUDA_HEADERS], ids=["cpp", "cuda"])
def test_hostile_includes_are_refused(form: str, headers: object) -> None:
    with pytest.raises(Refused) as caught:
        check_includes("k.cpp", "int before;\n" + form.format(SECRET) + "\n", headers, frozenset())  # type: ignore[arg-type]
    assert str(caught.value).startswith("k.cpp") and "\n" not in str(caught.value)


PIECES = ["#", "include", " ", "\n", "\\\n", "/*", "*/", "//", '"', "'", "<", ">", 'R"(', ')"', "x.h"]


@given(st.lists(st.sampled_from(PIECES), max_size=14))
def test_no_text_before_a_directive_hides_it(pieces: list[str]) -> None:
    with pytest.raises(Refused):
        check_includes("k.cpp", "".join(pieces) + '\n#include "x.h"\n', HEADERS, frozenset())


GAPS = st.lists(st.sampled_from([" ", "\t", "/**/", "/* a\n*/", "\\\n", "/* // */"]), max_size=3).map("".join)
DIRECTIVES = st.tuples(
    st.sampled_from(["", " ", "/* */", 'R"(/*)"\n', '"/*"\n', "'\"' /*\n*/", "//\\\n\n", "int a; "]),
    st.sampled_from(["#", "%:"]),
    GAPS,
    st.sampled_from(["include", "import", "include_next", "inc\\\nlude"]),
    GAPS,
    st.sampled_from(['"x.h"', "<x.h>", '"./x.h"', "X"]),
).map("".join)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
@settings(max_examples=60, deadline=None)
@given(DIRECTIVES)
def test_what_the_compilers_own_preprocessor_opens_is_refused(directive: str) -> None:
    text = f"#define X <x.h>\n{directive}\n"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "x.h").write_text("int opened;\n")
        Path(folder, "k.cpp").write_text(text)
        command = ["g++", "-std=c++20", "-E", "-I.", "-w", "k.cpp"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assume("int opened" in done.stdout)
    with pytest.raises(Refused):
        check_includes("k.cpp", text, HEADERS, frozenset())


def test_allowed_forms() -> None:
    text = '#include <vector>\n# include "mine.h" // fine\n#pragma omp parallel\n#define include 3\n'
    check_includes("k.cpp", text, HEADERS, frozenset({"mine.h", "k.cpp"}))
    check_includes(
        "k.cu", "#include <cooperative_groups/reduce.h>\n#include <cuda/barrier>\n", CUDA_HEADERS, frozenset()
    )


def test_own_sources_only_in_quotes_and_by_their_whole_name() -> None:
    for text in ("#include <mine.h>", '#include "sub/mine.h"'):
        with pytest.raises(Refused):
            check_includes("k.cpp", text, HEADERS, frozenset({"mine.h"}))


@pytest.mark.parametrize(
    "path", ["/etc/x.cpp", "../x.cpp", "a/../../x", "kw_unit.cpp", "", "a b.cpp", "a\n.cpp", "-x.cpp", ".x"]
)
def test_source_paths_stay_in_the_folder(path: str) -> None:
    with pytest.raises(Refused):
        check_paths(cpp(sources=(Source(path=path, text=""),)))


def test_one_name_for_two_sources() -> None:
    with pytest.raises(Refused, match="is taken"):
        check_paths(cpp(sources=(Source(path="a.h", text=""), Source(path="a.h", text="1"))))


@pytest.mark.parametrize(
    "line", ['\t.incbin "x"', 'a: .include "x"', ".macro m", 'nop; .incbin "x"', ".rept 3"]
)
def test_assembler_directives_are_found(line: str) -> None:
    assert reads_files(f"\tnop\n{line}\n") is not None


def test_assembler_strings_are_not_directives(tmp_path: Path) -> None:
    source = tmp_path / "s.cpp"
    source.write_text('const char *a() { return "\\\\\\" .incbin \\"x\\" .macro"; }\n')
    made = subprocess.run(["g++", "-S", "-o", "-", source], capture_output=True, text=True, check=True)
    assert ".incbin" in made.stdout
    assert reads_files(made.stdout) is None
