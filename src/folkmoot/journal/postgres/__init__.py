"""The journal of projects that many processes on many hosts share, in PostgreSQL: one schema per project.

`journal` answers the port, `writer` commits, `ledger` is what happens inside a transaction, `statements` what it says,
`artifacts` keeps contents and sweeps them, `reader` reads, `tables` is the read model, `server` connects, keeps a line
through a server that restarts, hears of what others wrote, and shapes the schema with `*.sql`.
"""
