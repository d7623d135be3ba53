"""What a built-in tool raises instead of doing something."""


class Refused(Exception):
    """It was not done. The model reads why, and what to do instead; this name is recorded with it."""


class Absent(Refused):
    """There is no such file."""
