"""How agents work together. Ordinary async code over spans; the only room that starts sessions.

run         one agent from request to outcome: advisors, session, route, handoff, in this order
advisors    consulted in parallel before a session
transfer    one agent's work passes to another: route, chain, delegate
delegate    agents offered to a session as tools
invocation  what an agent is asked, and where in the run
envelope    foreign text in a prompt, fenced by nonces
inbox       what waits for someone, who is asked, and where the answer goes
waiting     how a branch waits, and when a run has nothing left to do
log         the one writer of a run's events
ledger      what the run spent and may still spend
"""
