"""The page: one file per screen, each with its `ROUTES`."""
