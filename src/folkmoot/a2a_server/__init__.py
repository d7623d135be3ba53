"""The door for clients of the Agent2Agent protocol: every agent of the project has a card, and a run is a task.

`application` has the routes, `cards` what an agent says of itself, `handling` what clients may ask. Nothing is kept
here: a task is a fold over its run (`tasks`), and so is what a client is told while it goes on (`updates`); a restart
loses none. The name of a task follows from the message that it came with, so a message sent twice is done once.

Only this room, and `models/a2a` on the other side, know the SDK.
"""
