"""Tests that users write: files `*.test.yaml` beside the agents say what is asked, what the models answer, and what is
expected of the run. `reading` makes cases of them, `playing` runs one in memory, `verdict` compares and shows.
"""
