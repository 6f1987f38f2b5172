"""SQL that extracts two things from an error's text: the line that names the error, and the frame that raised
it.

All regular expressions use RE2, so they take linear time.
"""

from __future__ import annotations

from rayscope.storage.sql.pages import literal

#: Number of characters that are searched at the end of an error's text, where a traceback names the
#: exception.
_TEXT_CHARS = 20_000
_HEADLINE_CHARS = 300
#: SQL: whether Ray kept only the end of an error's text. By default it keeps 500 characters.
CUT_ERROR = (
    "coalesce(starts_with(error_message, 'User exception:\n') AND length(error_message) >= 516 AND NOT "
    r"regexp_matches(error_message, '^User exception:\n([^\n]*\(pid=\d+, ip=|\+ Exception Group )'), false)"
)

#: Color codes, and the prefix that Ray adds to all task errors.
_NOT_TEXT = r"\x1b\[[0-9;]*m|^User exception:\n"
#: Separates an exception from the next one in its chain.
_NEXT_IN_CHAIN = (
    r"\n\s*(?:The above exception was the direct cause of|During handling of the above exception, another)"
    r"[^\n]*\n"
)
#: Exceptions with which libraries wrap an exception of user code.
_WRAPPER = r"(?m)^ray\.exceptions\.(?:RayTaskError\(UserCodeException\)|UserCodeException)\b"
#: Precedes each exception of an exception group. ``_MARGIN`` is the margin of the exception's lines.
_MEMBER = r"\n *\+-[+-]*-+ \d+ -+\n"
_MARGIN = r"(?m)^ *\| ?"
_FRAME = r'(?m)^ *File "[^"\n]+", line \d+, in '
_UNTIL_LAST_FRAME = r'(?s)^.*File "[^"\n]+", line \d+[^\n]*\n'
_NOT_INDENTED = r"(?m)^[^\s+^].*$"
_EXCEPTION = (
    r"(?m)^[ |]*((?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning|Group)"
    r"(?:\(\w+\))?(?::.*)?)$"
)
#: A frame of Python itself, an installed package, Ray, or compiled code.
_LIBRARY = (
    r'File "([^"]*[/\\](site-packages|dist-packages|lib/python3[^/"]*|python/ray)[/\\]|<frozen '
    r'|[^"]*\.(pyx|pxi)")'
)


def _let(name: str, value: str, body: str) -> str:
    """SQL for ``body`` with ``name`` bound to ``value``."""
    return f"list_transform([{value}], lambda {name}: {body})[1]"


def _headline_of(text: str) -> str:
    """SQL for the line that names one exception: the first line after its frames."""
    behind = f"regexp_replace({text}, {literal(_UNTIL_LAST_FRAME)}, '')"
    lines = f"list_filter(string_split({text}, chr(10)), lambda line: regexp_matches(line, '\\w'))"
    return (
        f"coalesce(CASE WHEN regexp_matches({text}, {literal(_UNTIL_LAST_FRAME)}) "
        f"THEN nullif(regexp_extract({behind}, {literal(_NOT_INDENTED)}), '') END, "
        f"nullif(regexp_extract({text}, {literal(_EXCEPTION)}, 1), ''), list_last({lines}))"
    )


def _user_frame(text: str) -> str:
    """SQL for the innermost frame outside of libraries, or NULL if there is none."""
    frames = f"regexp_extract_all({text}, {literal(_FRAME)})"
    return f"list_last(list_filter({frames}, lambda frame: NOT regexp_matches(frame, {literal(_LIBRARY)})))"


def error_parts(message: str, without: str = "NULL") -> str:
    """SQL for ``{'headline': ..., 'frame': ...}`` for an error's text.

    Both skip exceptions that wrap others. ``headline``: the line that names the error. For an exception
    group, the line of its first member is added. ``frame``: the innermost ``File "...", line 1, in `` of user
    code, or of any code if there is no user code. ``without``: SQL for the headline of an error that has no
    text.
    """
    parts = {
        "whole": f"regexp_replace(right({message}, {_TEXT_CHARS}), {literal(_NOT_TEXT)}, '', 'g')",
        "chain": f"string_split_regex(whole, {literal(_NEXT_IN_CHAIN)})",
        "raised": f"coalesce(list_last(list_filter(chain, "
        f"lambda part: regexp_matches(part, '\\w') AND NOT regexp_matches(part, {literal(_WRAPPER)}))), "
        "chain[-1])",
        "members": "CASE WHEN contains(raised, 'Exception Group Traceback') THEN list_transform("
        f"string_split_regex(raised, {literal(_MEMBER)})[:2], "
        f"lambda part: regexp_replace(part, {literal(_MARGIN)}, '', 'g')) ELSE [raised] END",
    }
    headline = f"array_to_string(list_transform(members, lambda member: {_headline_of('member')}), ': ')"
    frame = (
        f"coalesce({_user_frame('array_to_string(members, chr(10))')}, {_user_frame('whole')}, "
        f"list_last(regexp_extract_all(whole, {literal(_FRAME)})))"
    )
    headline = f"coalesce(nullif(left(trim({headline}), {_HEADLINE_CHARS}), ''), {without})"
    made = f"{{'headline': {headline}, 'frame': {frame}}}"
    for name, value in reversed(parts.items()):
        made = _let(name, value, made)
    return made


#: SQL for the headline of an error that has no text, such as "Task cancelled".
TYPE_IN_WORDS = "upper(error_type[1]) || lower(replace(error_type[2:], '_', ' '))"
_SUMMARY = f"{error_parts('error_message', TYPE_IN_WORDS)}['headline']"
#: SQL for the line that names an attempt's error in lists.
ERROR_SUMMARY = (
    f"CASE WHEN {CUT_ERROR} AND NOT regexp_matches({_SUMMARY}, {literal(_EXCEPTION)}) THEN '…' ELSE '' END "
    f"|| {_SUMMARY} AS error_summary"
)
