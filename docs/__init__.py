"""Documentation; `python -m docs.generate` writes the pages that are made from code."""
