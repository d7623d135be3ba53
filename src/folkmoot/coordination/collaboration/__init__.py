"""How a team reaches the goal of a work session: one pure function from what is recorded to what comes next."""
