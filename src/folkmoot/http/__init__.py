"""The door for programs and browsers: JSON API, live streams and the page. Nothing here is imported by the core."""
