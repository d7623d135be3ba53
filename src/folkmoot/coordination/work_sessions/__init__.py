"""Work sessions: `fold` says what one is, `decide` what may happen to it, `forming` who takes part, `desk` performs."""
