"""The built-in collectors. They come in by the same door as plug-ins: entry points of the package."""
