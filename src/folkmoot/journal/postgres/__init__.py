"""The journal of projects that many processes on many hosts share, in PostgreSQL: one schema per project.

`journal` answers the port, `writer` commits, `ledger` is what happens inside a transaction, `statements` what it says,
`artifacts` keeps contents and sweeps them, `reader` reads, `listener` hears of what others wrote, `line` keeps a
connection through a server that restarts, `server` makes one, `migrations` and `*.sql` shape the schema.
"""
