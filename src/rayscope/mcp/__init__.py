"""A server of the Model Context Protocol: assistants query a Rayscope server with a few read-only tools.

See docs/how-to/assistants.md.
"""
