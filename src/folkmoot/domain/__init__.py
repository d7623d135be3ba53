"""The words of the house as frozen values: agents, messages, events, budgets, reports. No I/O, no clock."""
