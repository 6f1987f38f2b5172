"""Code inside Ray's dashboard agents. It uses only the standard library and Ray, and never raises there.

A node's agent collects the node's events and posts them to the server. Ray converts every event from protobuf
to JSON text, then to a dict, and back to JSON text. The *fast lane* sends the same events in their original
protobuf form. ``rayscope.pth``, which is installed next to the package, starts it:
:mod:`rayscope.agent.entry` (import hook), :mod:`~rayscope.agent.shape` (compatibility check),
:mod:`~rayscope.agent.lane` (buffer and sender), :mod:`~rayscope.agent.report` (reports to the server).

Python runs the line in ``rayscope.pth`` at each start. The line looks for the settings. Without them, it does
nothing else. With them, it imports ``rayscope`` from the folder where it is installed, or from the folder
that an editable install names in ``*rayscope_agent.pth``. If Python finds another ``rayscope`` first (in the
script's folder, or on PYTHONPATH), that one is the user's: it is not loaded, and the process runs without
Rayscope. Errors are hidden.
"""
