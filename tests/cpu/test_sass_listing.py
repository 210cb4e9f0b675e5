"""A listing becomes instructions, all of them, or `Unreadable`: nothing is dropped in silence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.sass.listing import Unreadable, parse_listing

LISTING = """	.target	sm_90a

//--------------------- .text.add                 --------------------------
	.section	.text.add,"ax",@progbits
	.align	128
        .global         add
        .type           add,@function
        .size           add,(.L_x_6 - add)
        .other          add,@"STO_CUDA_ENTRY STV_DEFAULT"
add:
.text.add:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 LDG.E.64 R4, desc[UR4][R8.64+0x10] ;
        /*0020*/                   HFMA2.MMA R9, -RZ, RZ, 1.9375, -2.384185791015625e-07 ;
        /*0030*/             @!UPT HSETP2.GEU.AND P1, PT, |R10|.reuse.H0_H0, 8.5e-06, 8.5e-06, PT ;
        /*0040*/                   CALL.REL.NOINC `($add$_Z5plainf) ;
.L_x_0:
        /*0050*/                   BRA `(.L_x_0);
        .type           $add$_Z5plainf,@function
$add$_Z5plainf:
        /*0060*/                   EXIT ;
.L_x_6:

//--------------------- .nv.global                --------------------------
	.section	.nv.global,"aw",@nobits
        /*0000*/ 	.byte	0xff, 0xff

	.section	.text.shared,"ax",@progbits
        .type           shared,@function
shared:
        /*0000*/                   RET.REL.NODEC R20 `(shared) ;
"""


def test_sections_guards_operands_and_functions_inside_a_kernel() -> None:
    add, shared = parse_listing(LISTING)
    assert (add.name, add.entry, shared.name, shared.entry) == ("add", True, "shared", False)
    assert [one.opcode for one in add.instructions] == [
        "LDC", "LDG.E.64", "HFMA2.MMA", "HSETP2.GEU.AND", "CALL.REL.NOINC", "BRA", "EXIT",
    ]  # fmt: skip
    assert add.instructions[1].operands == ("R4", "desc[UR4][R8.64+0x10]")
    assert add.instructions[2].operands == ("R9", "-RZ", "RZ", "1.9375", "-2.384185791015625e-07")
    assert add.instructions[6].operands == ()
    assert (add.instructions[1].base, add.instructions[1].modifiers) == ("LDG", ("E", "64"))


opcodes = st.from_regex(r"[A-Z][A-Z0-9]{1,6}(\.[A-Za-z0-9_]{1,6}){0,4}", fullmatch=True)
registers = st.sampled_from(
    ["R1", "-RZ", "|R10|.H0_H0", "c[0x0][0x28]", "desc[UR4][R2.64]", "1.5", "`(.L_x_3)"]
)
guards = st.sampled_from(["", "@P0 ", "@!P6 ", "@UP1 ", "@!PT "])
lines = st.lists(st.tuples(guards, opcodes, st.lists(registers, max_size=6)), min_size=1, max_size=12)


def written(name: str, rows: list[tuple[str, str, list[str]]]) -> str:
    head = f'\t.section\t.text.{name},"ax",@progbits\n        .other {name},@"STO_CUDA_ENTRY STV_DEFAULT"\n'
    body = "".join(
        f"        /*{16 * at:04x}*/         {guard}{opcode} {', '.join(operands)} ;\n"
        for at, (guard, opcode, operands) in enumerate(rows)
    )
    return head + body


@settings(max_examples=40)
@given(lines, lines)
def test_what_is_written_is_read_back(first: list, second: list) -> None:
    found = parse_listing(written("a", first) + "\n" + written("b", second))
    for section, rows in zip(found, (first, second), strict=True):
        read = [(one.opcode, list(one.operands)) for one in section.instructions]
        assert read == [(opcode, operands) for _, opcode, operands in rows] and section.entry


@settings(max_examples=100)
@given(st.data())
def test_no_instruction_is_lost_in_silence(data: st.DataObject) -> None:
    """A listing with a line of code taken out, or broken off inside of one, is refused or still whole."""
    rows = LISTING.splitlines(keepends=True)
    code = [at for at, row in enumerate(rows[:24]) if "/*00" in row]
    at = data.draw(st.sampled_from(code[:-1]))
    with pytest.raises(Unreadable):
        parse_listing("".join(rows[:at] + rows[at + 1 :]))
    rest = rows[at].split("*/", 1)[1].strip()
    cut = data.draw(st.integers(0, len(rest) - 1))
    with pytest.raises(Unreadable):
        parse_listing("".join([*rows[:at], rows[at].replace(rest, rest[:cut].strip("; ")), *rows[at + 1 :]]))


@given(st.text(max_size=300))
def test_any_text_is_a_listing_or_unreadable(text: str) -> None:
    for whole in (text, LISTING + text):
        try:
            sections = parse_listing(whole)
        except Unreadable as error:
            assert "\n" not in str(error)
        else:
            assert all(section.instructions for section in sections)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there is no code"),
        ('\t.section\t.text.k,"ax",@progbits\n', "the code of 'k' is empty"),
        (written("k", [("", "EXIT", [])]).replace("EXIT", ".word 0x1"), "not understood"),
        (written("k", [("", "EXIT", [])]).replace("/*0000*/", "/*0010*/"), "has no instruction at 0x0"),
    ],
)
def test_what_is_missing_is_said(text: str, said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        parse_listing(text)
