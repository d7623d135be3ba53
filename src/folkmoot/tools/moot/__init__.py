"""The tools with which agents take part in what outlives a run."""
