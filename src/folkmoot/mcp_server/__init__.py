"""The door for clients of the Model Context Protocol: every agent is a tool, every run and its report a resource.

`server` makes the protocol's server from an open project; `stdio` and `application` put it on a pipe or behind HTTP.
A call goes through `Folkmoot.run` like any other run (`calling`), its events become progress, and its result an answer
(`answers`). What it waits for is put to the person at the client (`asking`), in the way of either generation of the
protocol: the older one is asked while the run goes on, the newer one with the answer, and calls again.

Only this room, and `tools/mcp` on the other side, know the SDK.
"""
