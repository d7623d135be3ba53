"""How agents work together. Ordinary async code over spans; the only room that starts sessions.

run         one agent from request to outcome: advisors, session or team, route, handoff, in this order
advisors    consulted in parallel before a session
transfer    one agent's work passes to another: route, chain, delegate
delegate    agents offered to a session as tools
clarify     a finished agent is asked again
ask_parent  a called agent asks the agent that waits for it
question    the tools with which an agent asks while it works
freeze      what becomes of a finished agent: kept to be asked, or let go
chats       who is kept, and who may ask them
call_agent  any agent of the project, or one made up, called with a mission; parallel: several at once
mission     what a model may ask with these tools
custom      agents that no file declares: they only have less than their caller
spawn       the one way in which an agent called as a tool begins
reach       what holds for a session because of those above it
policy      what the gate goes by in a session
grants      what the gate must know of the rest of the run
approver    who says the word that a call waits for
explain     what an agent may call, and why
summary     long results in few words
cache       results of earlier calls, from the journal
kit         what a session is offered
invocation  what an agent is asked, and where in the run
team        members in parallel under a lead, cycle by cycle
seats       who sits in a team, with what
broker      what a team has said, and who has read what
subscribers the seam for whoever wants to hear what is said in teams
listening   what models say, on its way to whoever listens
envelope    foreign text in a prompt, fenced by nonces
inbox       what waits for someone, who is asked, and where the answer goes
waiting     how a branch waits, and when a run has nothing left to do
log         the one writer of a run's events
ledger      what the run spent and may still spend
"""
