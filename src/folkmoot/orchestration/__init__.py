"""How agents work together. Ordinary async code over spans; the only room that starts sessions.

run         one agent from request to outcome: advisors, session or team, route, handoff, in this order
transfer    one agent works for another: advisor, route, chain, delegate
delegate    everything one session may call: its tools, and its agents as tools
delivery    messages between agents; a2a: the tools that send them
clarify     a finished agent is asked again, or let go
ask_parent  a called agent asks the agent that waits for it
question    the tools with which an agent asks while it works
chats       who is kept, and who may ask them
call_agent  any agent of the project, or one made up, called with a mission; several at once
mission     what a model may ask with these tools
spawn       the one way to call an agent: resolve, admit, spawn, result
reach       what holds for a session because of those above it
briefs      what a session is given, and what the gate goes by in it
explain     what an agent may call, and why
kit         what a session is offered
invocation  what an agent is asked, and where in the run
team        members in parallel under a lead, cycle by cycle
seats       who sits in a team, with what
broker      what a team has said, and who has read what
inbox       what waits for someone, who is asked, and when a run has nothing left to do
history     what is recorded of a run, and the questions asked of it
log         the one writer of a run's events
other_runs  what other runs of the project recorded: messages, results of equal calls
ledger      what the run spent and may still spend
"""
