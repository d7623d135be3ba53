"""Tools of MCP servers: their processes, their connections. What was trusted of them lies in `tools.consent`.

config        how a server is reached, and the processes of servers that nobody needs any more
process       one server as a process: lines in, lines out, and its end    (the SDK: imported when one is connected)
connection    one open connection to a server                              (the SDK)
servers       all servers of an open project: each is connected when it is needed
"""
