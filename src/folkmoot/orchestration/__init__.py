"""How agents work together. Ordinary async code over spans; the only room that starts sessions.

run            one agent from request to outcome: advisors, session or team, route, handoff, in this order
transfer       one agent works for another: advisor, route, chain, call; the one way to call an agent
call_agent     any agent of the project, or one made up, called with a mission; several at once
messages       agents write to each other
questions      a called agent asks its caller; a finished agent is asked again, or let go
session_ports  everything one session may call, and who answers it
runtime_tools  the tools of the runtime itself: what they look like, and what a call asks
kit            what a session is offered, and what it inherits from those above it
briefs         what a session is given, what the gate goes by in it, and why
invocation     what an agent is asked, and where in the run
team           members in parallel under a lead, cycle by cycle; broker: what they said, and who has read what
planned        an agent that works by a plan; planner: how it makes one; references: what is kept for it
stamp          what was really done below an agent, whatever its report says
inbox          what waits for someone, who is asked, and when a run has nothing left to do
history        what is recorded of a run, and what is folded from it
log            the one writer of a run's events
ledger         what the run spent and may still spend
other_runs     what other runs of the project recorded: messages, results of equal calls
"""
