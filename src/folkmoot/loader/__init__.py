"""From a folder of `.ai` files and `folkmoot.yaml` to a graph of agents that is known to be sound.

`load` reads everything before it judges anything. `files` gives text, `document` gives YAML as nodes with positions,
`walk` checks these against structs, `agent_file` is one agent so far. `options`, `models`, `links` and `settings`
settle what more than one file decides. What is wrong is collected in `findings` and ends in one `DeclarationError`.
"""
