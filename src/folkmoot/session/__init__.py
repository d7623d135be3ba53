"""One agent, one conversation. A session knows its exits, not the patterns behind them.

state         fold events into what the session knows        (pure)
exits         the tools that end a session, and when         (pure)
calls         what each call of an answer needs next         (pure)
decide        from what it knows to the next step            (pure)
conversation  what was said, for a session that goes on      (pure)
run           perform steps and record what happened         (the only async file)
"""
