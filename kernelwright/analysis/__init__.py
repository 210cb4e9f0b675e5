"""Pages that a person reads: what was judged, with the evidence, as one self-contained file of HTML.

    verdict_page([Judged(problem, kernel, evaluation)])     audit_page(summary)

How they are laid out and what must never happen: `docs/design/reports.md`.
"""
