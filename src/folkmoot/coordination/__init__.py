"""What outlives a run: work sessions, tasks, plans, decisions, messages. Thinking is pure; `keeping` performs."""
