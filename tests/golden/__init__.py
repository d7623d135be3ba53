"""Journals of earlier days, which must replay for ever. `python -m tests.golden.make NAME …` makes new ones."""
