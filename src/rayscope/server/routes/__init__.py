"""The HTTP API's paths, by what they are about. docs/api.md says what the answers mean."""
