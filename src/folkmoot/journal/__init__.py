"""The journal, behind one port: the only truth, append-only, never edited by hand.

`codec` says how an entry is written and read back, `chain` whether entries follow one another, `expectation`
what an append may demand. `memory` is the reference. `sqlite` is the journal of a project folder: `database`
opens its file, `migrations` and `*.sql` shape it, `writer` commits (with `bell`), `ledger` is what happens
inside a transaction, `reader` reads, `artifacts` and `files` keep large content. `postgres` is the
journal of projects that several hosts share. `contents` is what either holds until it is written.
"""
