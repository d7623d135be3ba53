"""Tools of MCP servers: their processes, their connections, and what was trusted of them.

listing       what a server offers, as it was trusted
way           how a server is reached
processes     the processes of servers that nobody needs any more
process       one server as a process: lines in, lines out, and its end    (the SDK: imported when one is connected)
http          one server at an address                                     (the SDK)
connection    one open connection to a server                              (the SDK)
answers       what a server answers, as what a model reads                 (the SDK)
server        one server of an open project: connected when it is needed
servers       all of them
"""
