"""Plans that several carry out: `wish` is what somebody wants, `life` and `steps` decide, `desk` performs."""
