"""Short names for command lines: the script, alone or with its arguments."""

from __future__ import annotations

import re

_PYTHON = re.compile(r"python[\d.]*")
#: A word of a command line, including its quotes. An unterminated quote is an ordinary character.
_WORD = re.compile(r"""(?:"(?:[^"\\]|\\.)*"|'[^']*'|\\\s|\S)+""")
_QUOTED = re.compile(r"""(["'])(.*?)\1""")


def script_name(command: str) -> str:
    """The script in a job's entrypoint, without folder and arguments: ``train.py``, or '' for an empty
    command.

    For ``python -m pkg.main`` this is the module. For code on the command line it is ``python -c``, and for
    any other command its first word.
    """
    words = [_unquoted(word) for word in _WORD.findall(command)]
    for at, word in enumerate(words):
        if at > 0 and words[at - 1] == "-c":  # a shell's code, not a script
            continue
        if word.endswith(".py"):
            return _base(word)
        if word in ("-m", "-c") and at > 0 and _PYTHON.fullmatch(_base(words[at - 1])):
            return "python -c" if word == "-c" else " ".join(words[at + 1 : at + 2])
    return _base(words[0]) if words else ""


def program_name(command: str) -> str:
    """A job's entrypoint without the interpreter, its options and the script's folder: ``train.py --lr 1``.

    Code on the command line is not changed.
    """
    words = _WORD.findall(command)
    at = 0
    if words and _PYTHON.fullmatch(_base(_unquoted(words[0]))):
        at = 1
        while at < len(words) and words[at].startswith("-") and words[at] not in ("-m", "-c"):
            at += 1
        at += words[at : at + 1] == ["-m"]
    program = words[at : at + 1]
    if not program or program == ["-c"]:
        return " ".join(words)
    return " ".join([_base(_unquoted(program[0])), *words[at + 1 :]])


def _unquoted(word: str) -> str:
    return _QUOTED.sub(r"\2", word).replace("\\ ", " ")


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2] or path
