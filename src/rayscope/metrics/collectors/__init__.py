"""The built-in collectors. Like plug-ins, they are registered as entry points."""
