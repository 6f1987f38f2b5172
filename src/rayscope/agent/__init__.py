"""What runs inside Ray's dashboard agents: the standard library and Ray alone, and never an error for them.

A node's agent collects the events of the node and posts them to us. Ray's own way turns every event from
protobuf to JSON text to a dict to JSON text again; the *fast lane* here sends the same events as the
protobuf that they came in. ``rayscope.pth`` beside the installed package begins it:
:mod:`rayscope.agent.entry` (import hook), :mod:`~rayscope.agent.shape` (is this a Ray that we know?),
:mod:`~rayscope.agent.lane` (buffer and sender), :mod:`~rayscope.agent.report` (what the server is told).

Python runs the line in ``rayscope.pth`` at each start. Without the settings the line only looks for them.
With them it imports ``rayscope`` from the folder where it is installed, or from the one that an editable
install names in ``*rayscope_agent.pth``. If Python finds another ``rayscope`` first (in the script's folder,
on PYTHONPATH), that one is the user's: it is not loaded, and the process runs without us. Errors are hidden.
"""
