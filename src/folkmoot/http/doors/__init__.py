"""The doors for chat clients, below `/v1`: to them an agent is a model, and a conversation is a work session."""
