"""What goes out live: server-sent events and WebSocket messages."""
