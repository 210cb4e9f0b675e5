"""Pages: a golden one, hostile text that stays text, nothing from outside, what an engineer looks for."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from html.parser import HTMLParser
from pathlib import Path

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pages_cases import MISMATCH, Outline, audit_summary, judged

from kernelwright.analysis.audit_page import audit_page
from kernelwright.analysis.evidence import evidence, flat, text_of
from kernelwright.analysis.page import time_text, write_page
from kernelwright.analysis.timing_chart import MOST_POINTS, WIDTH, timing_chart
from kernelwright.analysis.verdict_page import verdict_page
from kernelwright.cli import root
from kernelwright.core.errors import UsageError
from kernelwright.core.measurement import Measurement, Timing
from kernelwright.core.verdict import GateResult, Level

GOLDEN = Path(__file__).parents[1] / "golden"
HOSTILE = [
    "<script>alert(1)</script>", "\" onmouseover=\"x\" '", "</pre></style></script><img src=x onerror=x>",
    "{{ 7 * 7 }}{% raw %}", "&lt;b&gt; &amp;", "<!--", "]]>", "\ud800 \x00 \u202e", "javascript:x",
]  # fmt: skip
TEXTS = st.sampled_from(HOSTILE) | st.text(min_size=1, max_size=12).filter(str.strip)


def pages(text: str, kind: str = "answer") -> dict[str, str]:
    """Every kind of page, with all text of others replaced by `text`."""
    return {
        "accepted": verdict_page([judged(text)]),
        "rejected": verdict_page([judged(text, accepted=False)]),
        "workloads": verdict_page([judged(text, workload=text), judged(text, accepted=False, workload=text)]),
        "audit": audit_page(audit_summary(text, kind), text),
    }


def test_the_page_of_a_small_verdict_is_as_it_was() -> None:
    page, golden = verdict_page([judged("rms norm")]), GOLDEN / "verdict_page.html"
    page = re.sub(r"kernelwright [0-9][^ <]*\. Times", "kernelwright 0. Times", page)
    if os.environ.get("ACCEPT_GOLDEN"):
        golden.write_text(page)
    assert page == golden.read_text()


@given(TEXTS, TEXTS)
@settings(max_examples=60, deadline=None)
def test_text_of_others_is_never_markup(text: str, kind: str) -> None:
    for (name, plain), hostile in zip(pages("text").items(), pages(text, kind).values(), strict=True):
        expected, found = Outline(plain), Outline(hostile)
        assert found.elements == expected.elements, name
        assert found.inside == expected.inside, name
        for tag, attribute, value in found.attributes:
            assert not attribute.startswith("on"), (name, tag)
            if attribute in ("href", "src", "action", "style"):
                assert value.startswith("#case-"), (name, tag, value)


@pytest.mark.parametrize("text", HOSTILE[:5])
def test_text_of_others_is_all_there(text: str) -> None:
    for name, page in pages(text).items():
        assert any(text in piece for piece in Outline(page).texts), name


@pytest.mark.parametrize("name", pages("text"))
def test_nothing_comes_from_outside(name: str) -> None:
    page = pages("text")[name]
    assert not re.search(r"https?:|//[a-z]|url\(|@import|<link|<iframe", page)
    outline = Outline(page)
    policy = next(value for _, attribute, value in outline.attributes if value.startswith("default-src"))
    assert policy.startswith("default-src 'none'; ")
    script = outline.inside.get("script")
    if script is None:
        assert "script-src 'none'" in policy
    else:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"script-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("name", pages("text"))
def test_a_page_can_be_read_by_everybody(name: str) -> None:
    page = pages("text")[name]
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    outline = Outline(page)
    assert [each for each in outline.elements if each[0] == "h1"] == [("h1",)]
    headers = [each for each in outline.elements if each[0] == "th"]
    assert headers and all("scope" in each for each in headers)
    drawings = [each for each in outline.elements if each[0] == "svg"]
    assert all({"role", "aria-label"} <= set(each) for each in drawings)
    assert _balanced(page)


def test_what_an_engineer_looks_for_is_there() -> None:
    found = " ".join(Outline(verdict_page([judged()])).texts)
    for words in ("Accepted", "1.60x", "1.500 to 1.700", "500 us", "25 %", "floor 125 us", "6.1e-08", "full",
                  "gates that were not reached: timed, repeat", "versions torch", "process"):  # fmt: skip
        assert words in found, words
    failed = verdict_page([judged(accepted=False)])
    outline = Outline(failed)
    assert ("details", "open") in outline.elements, "the gate that failed is open"
    for words in ("Rejected", "By gate", "[2, 5]", repr(MISMATCH["actual"]), "float64 says"):
        assert any(words in text for text in outline.texts), words


@pytest.mark.parametrize("level", ["quick", "full", "paranoid"])
def test_every_page_names_the_level_and_only_a_whole_look_says_right(level: Level) -> None:
    for page in (verdict_page([judged(level=level)]), audit_page(audit_summary(level=level), "kernels")):
        words = " ".join(" ".join(Outline(page).texts).split())
        assert f"judged at level {level}" in words
        assert ("nothing wrong where it looked" in words) == (level == "quick")
        assert bool(re.search(r"\bright\b", words, re.IGNORECASE)) == (level != "quick")


def test_a_page_without_times_has_machine_and_versions_too() -> None:
    assert "versions torch" in " ".join(Outline(verdict_page([judged(accepted=False)])).texts)


@pytest.mark.parametrize(
    ("counts", "beyond"),
    [
        ({}, True),
        ({"wrong_elements": 3}, True),
        ({"beyond_tolerance": 0, "not_finite_wrongly": 2}, True),
        ({"beyond_tolerance": 1, "not_finite_wrongly": 0}, True),
        ({"beyond_tolerance": 0, "not_finite_wrongly": 0}, False),
    ],
)
def test_a_value_is_called_wrong_only_where_it_is(counts: dict[str, int], beyond: bool) -> None:
    gate = GateResult(name="numeric", status="fail", kind="precision", evidence={**MISMATCH, **counts})
    assert evidence(gate).beyond == beyond


def test_the_kind_of_a_failure_stands_only_where_one_is() -> None:
    assert "of kind" not in verdict_page([judged()])
    assert "a failure of kind answer" in verdict_page([judged(accepted=False)])


def test_totals_come_before_rows_and_every_row_has_its_filter() -> None:
    page = audit_page(audit_summary(), "kernels")
    assert page.index("could not be judged") < page.index("<table")
    found = Outline(page).attributes
    groups = {value for _, name, value in found if name == "data-group"}
    assert groups | {""} == {value for _, name, value in found if name == "data-kind"}


def test_a_drawing_keeps_every_lane_and_counts_what_lies_beyond() -> None:
    slow = [100.0 + call for call in range(1000)] + [1e6] * 9
    timings = [
        Timing(name=name, latency_us=110, ci=(100, 120), samples_us=samples)
        for name, samples in (("kernel", ((), (90.0,))), ("eager", (tuple(slow), (100.0,))))
    ]
    measured = Measurement(clock="outside", kernel=timings[0], baselines=(timings[1],), floor_share=3.0)
    chart = timing_chart(measured)
    kernel, eager = chart.rows
    assert [lane for _, _, lane in kernel.points] == [1]
    assert eager.beyond >= 9 and len(eager.points) == MOST_POINTS + 1
    assert max(x for x, _, _ in eager.points) == WIDTH
    assert all(0 <= x <= WIDTH for row in chart.rows for x, _, _ in row.points)
    assert chart.ticks[0] == (0.0, 0.0) and 2 <= len(chart.ticks) <= 7
    assert chart.floor_us == 330.0


@pytest.mark.parametrize(
    ("us", "text"),
    [(0.5, "0.5 us"), (999.0, "999 us"), (1500.0, "1.5 ms"), (2.5e6, "2.5 s"), (3e9, "3,000 s"), (None, "–"),
     (float("nan"), "–"), (float("inf"), "–")],
)  # fmt: skip
def test_times_have_units(us: float | None, text: str) -> None:
    assert time_text(us) == text


def test_evidence_of_any_shape_is_text() -> None:
    assert text_of({"a": [1, 2], "b": None}) == "a [1, 2], b –"
    assert text_of([0.123456, "x"]) == "0.1235, x" and text_of([]) == "none" and text_of({}) == "none"
    assert text_of("y" * 900).endswith("…") and text_of(float("nan")) == "nan"
    assert flat({"a": {"b_c": 1}, "d": True}) == [("a b c", "1"), ("d", "yes")]


def test_a_page_is_written_or_one_line_says_why_not(tmp_path: Path) -> None:
    write_page(tmp_path / "new" / "page.html", verdict_page([judged("\ud800")]))
    assert (tmp_path / "new" / "page.html").read_text().startswith("<!DOCTYPE")
    for place in (tmp_path, tmp_path / "new" / "page.html" / "inside"):
        with pytest.raises(UsageError, match="cannot write a page to"):
            write_page(place, "")


def _balanced(page: str) -> bool:
    """Whether every element that is opened is closed, in order."""
    void, opened = {"meta", "br", "input"}, list[str]()

    class Walk(HTMLParser):
        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in void:
                opened.append(tag)

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            return

        def handle_endtag(self, tag: str) -> None:
            assert opened.pop() == tag

    Walk().feed(page)
    return not opened


COLOURS = [("ink", "page"), ("ink", "card"), ("ink", "wash"), ("ink", "good-wash"), ("ink", "bad-wash"),
           ("soft", "page"), ("soft", "card"), ("soft", "wash"), ("good", "good-wash"), ("bad", "bad-wash"),
           ("warn", "warn-wash"), ("kernel", "card"), ("kernel", "page"), ("floor", "card")]  # fmt: skip


@pytest.mark.parametrize("theme", [0, 1], ids=["light", "dark"])
def test_text_has_contrast_in_light_and_in_dark(theme: int) -> None:
    style = Outline(verdict_page([judged()])).inside["style"]
    block = re.findall(r":root \{(.*?)\}", style, re.DOTALL)[theme]
    colours = dict(re.findall(r"--([\w-]+): #(\w{6})", block))
    for text, ground in COLOURS:
        light, dark = sorted((_luminance(colours[text]), _luminance(colours[ground])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, ground)


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    shares = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    linear = [share / 12.92 if share <= 0.03928 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_commands_of_the_page_on_judging_are_understood() -> None:
    text = (Path(__file__).parents[2] / "docs" / "how-to-judge.md").read_text().replace("\\\n", "")
    lines = re.findall(r"^    kernelwright (.*)$", text, re.MULTILINE)
    assert len(lines) >= 6
    for line in lines:
        name, *arguments = line.split()
        command = root.get_command(click.Context(root), name)
        assert command is not None
        given = command.make_context(name, arguments).params
        assert all(given[option] for option in ("html", "json_", "trace") if f"--{option.strip('_')}" in line)
