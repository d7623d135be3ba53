"""What version 0.1.0 wrote and answered, kept in `tests/golden/0.1.0`, and what holds the present program against it."""
