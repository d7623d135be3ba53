"""Places outside that events are sent on to, each behind the port `Sink`: it takes a batch, or says why not.

ndjson     a file that only grows
discord    embeds in a channel, or one message with the team's state, edited whenever that has changed
http       signed JSON to a webhook, and the one way out of all but the first and the last
otel       runs as traces, with the metrics of models; `spans` and `genai` make them (pure), `otlp` sends them

When they are fed, how often a batch is tried, and where each of them stands is `engine/sinking`'s business.
"""
