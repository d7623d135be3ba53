"""The command-line door: one file per command group.

`main` is the program. `call` holds what all commands share: global options, the project, `--json`. `output`
is the only way to the terminal, so that nothing a model wrote reaches it raw; `streams` keeps that way open.
`perform` carries a run out, `progress` and `live` show it meanwhile, `ending` says how it went. `records` reads
what ran before. A command imports what it needs when it is chosen, because start-up is felt.
"""
