"""Tasks: what they are now (`record`), what may be done with them (`deciding`), and the desk that does it."""
