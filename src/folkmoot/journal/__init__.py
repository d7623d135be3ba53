"""The journal, behind one port: the only truth, append-only, never edited by hand.

`front` is what every journal does alike; `memory`, `sqlite` (of a project folder) and `postgres` (of projects
that several hosts share) give it a reader and a writer. `codec` says how an entry is written and read back and whether
entries follow one another. `database` opens and shapes the file of `sqlite`, `writer` commits to it, `ledger` is what
happens inside a transaction, `reader` reads, `artifacts` and `files` keep large content, `contents` is what waits to be
written. `rows` and `tables` are the read model, `copies` are backups, bundles and exported logs.
"""
