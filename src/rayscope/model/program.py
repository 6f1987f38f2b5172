"""What people call a command line: the script that it runs."""

from __future__ import annotations

import re

_PYTHON = re.compile(r"python[\d.]*")


def script_name(command: str) -> str:
    """The script of a job's entrypoint without its folder and arguments: ``train.py``; '' of nothing.

    Of ``python -m pkg.main`` it is the module, of code on the command line ``python -c``, of any other
    command its first word.
    """
    words = command.split()
    for at, word in enumerate(words):
        if word.endswith(".py"):
            return _base(word)
        if word in ("-m", "-c") and at > 0 and _PYTHON.fullmatch(_base(words[at - 1])):
            return "python -c" if word == "-c" else " ".join(words[at + 1 : at + 2])
    return _base(words[0]) if words else ""


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2] or path
