"""The documentation as pages: contents, anchors, links, search; and which of them explains an error."""
