"""One agent, one conversation. A session knows its exits, not the patterns behind them.

state   fold events into what the session knows                     (pure)
exits   the tools that end a session, and when                      (pure)
gate    what every call must pass; schema: whether a value fits     (pure)
calls   what each call of an answer needs next                      (pure)
decide  from what it knows to the next step                         (pure)
record  what a model is sent, and what is recorded of a step        (pure)
run     perform steps and record what happened                      (the only async file)
"""
