"""The JSON API: one file per resource, each with its `OPERATIONS`."""
