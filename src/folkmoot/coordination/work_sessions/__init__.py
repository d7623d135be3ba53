"""Work sessions: `decide` says what may happen, `forming` who takes part, `joining` which runs; `desk` performs."""
