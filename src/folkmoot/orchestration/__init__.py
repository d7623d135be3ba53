"""How agents work together. Ordinary async code over spans; the only room that starts sessions.

run         one agent from request to outcome: advisors, session, route, handoff, in this order
advisors    consulted in parallel before a session
transfer    one agent's work passes to another: route, chain, delegate
delegate    agents offered to a session as tools
call_agent  any agent of the project, or one made up, called with a mission; parallel: several at once
mission     what a model may ask with these tools
custom      agents that no file declares: they only have less than their caller
spawn       the one way in which an agent called as a tool begins
reach       what holds for a session because of those above it
summary     long results in few words
cache       results of earlier calls, from the journal
kit         what a session is offered
invocation  what an agent is asked, and where in the run
envelope    foreign text in a prompt, fenced by nonces
log         the one writer of a run's events
ledger      what the run spent and may still spend
"""
