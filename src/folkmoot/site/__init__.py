"""The documentation, read from its Markdown; and which of its pages explains an error."""
