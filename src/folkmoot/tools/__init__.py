"""What agents can do: Python functions as tools, and the registry that knows them by name."""
