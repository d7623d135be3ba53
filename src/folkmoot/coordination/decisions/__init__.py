"""Decisions: proposed, deliberated, voted on and committed."""
