"""The wires that clients of others speak: chat completions, responses, messages, MCP and A2A.

One conversation core (`conversation`, `chat_runs`, `reply`, `answer`) reads what chat clients say, starts or continues
a run, and follows it; `runs` has what all five wires share. Each wire has a file that only translates. MCP and A2A
sit on their official SDKs, which no other package but `tools/mcp` and `models/a2a` knows.
"""
