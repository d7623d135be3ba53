"""Team state: how the agents of a project fare, folded from the journal (`health`), and the desk that reads it."""
