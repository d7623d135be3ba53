"""Tools of MCP servers: their processes, their connections, and what was trusted of them.

listing       what a server offers, as it was trusted
config        how a server is reached
processes     the processes of servers that nobody needs any more
process       one server as a process: lines in, lines out, and its end    (the SDK: imported when one is connected)
connection    one open connection to a server                              (the SDK)
servers       all servers of an open project: each is connected when it is needed
"""
