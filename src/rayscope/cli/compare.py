"""``rayscope compare``: whether runs are slower than others, and where the difference comes from."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from rayscope.cli.api import Api
from rayscope.cli.console import print_json, shown, stdout
from rayscope.cli.diagnose import Form
from rayscope.cli.findings import CAUSE_NAMES
from rayscope.cli.lines import place_of
from rayscope.cli.options import DataDir, ServerUrl, SkipFirst, Token
from rayscope.cli.printing import counted
from rayscope.cli.session_files import client_of_runs
from rayscope.units import duration

if TYPE_CHECKING:
    from rayscope.client.types import (
        CompareAnswer,
        ComparedFinding,
        ComparedFindings,
        ComparedLine,
        DurationChange,
        FunctionChange,
        Side,
        Warned,
        WaterfallPart,
    )

#: Number of parts of the difference, of functions, and of other differences that are printed.
_PARTS = 8
_FUNCTIONS = 10
_DIFFERENCES = 12
#: Number of functions whose lines are compared, and of lines of each that are printed.
_SAMPLED_FUNCTIONS = 3
_SAMPLED_LINES = 3
_SLOWER = 3
_UNKNOWN = 4
#: Longest value that is printed, in characters.
_MAX_VALUE = 60
#: A longer beginning that both sides share is left out.
_MAX_SAME = 30

_VERDICTS = {
    "slower": "B is slower",
    "faster": "B is faster",
    "no_change": "No change",
    "cannot_tell": "Cannot tell whether B is slower",
}
#: Texts of the warnings, which the values of A and B follow.
_WARNINGS = {
    "dropped": "Events were dropped, so tasks may be missing",
    "nodes": "They ran on other nodes",
    "outcome": "Not every run succeeded",
    "path": "A critical path is cut off",
    "recording": "They were recorded in different ways",
    "state": "A run is still running",
    "tracer": "The tracer was not on in every driver",
}
_FINDINGS = {"came": "New", "went": "Gone", "stayed": "Stayed"}
#: Returns a name or value as it is printed.
Quote = Callable[[str], str]
#: Lines of code by function.
_SampledLines = Mapping[str, "Sequence[ComparedLine]"]
#: A smaller change of most functions is not mentioned.
_MIN_COMMON = 0.02


class FunctionsBy(str, Enum):
    """The identity of a function in the list of functions."""

    name = "name"
    path = "path"


def _share(text: str) -> float:
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise typer.BadParameter("use a share such as 5% or 0.05.")
    return value


def compare(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[A] [B]",
            help="The runs to compare with (default: earlier runs of the same script), and the runs "
            "that may have changed (default: the newest session). Separate several by commas. A run may be "
            "a session file.",
            show_default=False,
        ),
    ] = None,
    slower: Annotated[
        str | None,
        typer.Option(
            "--fail-if-slower",
            metavar="SHARE",
            help="Exit with 3 if B is slower by more than this share, such as 5%, and with 4 if the runs do "
            "not decide it.",
        ),
    ] = None,
    allow_unknown: Annotated[
        bool, typer.Option("--allow-unknown", help="Exit with 0 if the runs do not decide it.")
    ] = False,
    skip_first: SkipFirst = 0,
    functions_by: Annotated[
        FunctionsBy,
        typer.Option("--functions-by", help="Compare functions by name, or by call path."),
    ] = FunctionsBy.name,
    findings: Annotated[
        bool, typer.Option("--findings", help="Also print which findings are new, gone, or on both sides.")
    ] = False,
    form: Annotated[Form, typer.Option("--format", help="Print text, JSON, or Markdown.")] = Form.text,
    data_dir: DataDir = None,
    server: ServerUrl = None,
    token: Token = None,
) -> None:
    """Compare runs: whether they are slower, and where the difference comes from.

    Several runs on each side show whether a difference may be chance. A run is a session, which stands for
    its longest job, or SESSION/JOB. tag:TAG stands for the newest sessions with this tag.
    """
    margin = None if slower is None else _share(slower)
    if len(runs or ()) > 2:
        raise typer.BadParameter("there are two sides. Separate the runs of a side by commas.")
    with client_of_runs(runs or ["/"], server, data_dir, token) as (client, (*a, b)):
        answer = client.compare(
            a[0] if a else None,
            b,
            margin=margin,
            skip_first=skip_first or None,
            functions_by=None if functions_by is FunctionsBy.name else "path",
        )
        found = client.compare_findings(_address(answer["a"]), _address(answer["b"])) if findings else None
        has_lines = form is not Form.json and functions_by is FunctionsBy.name
        lines = _changed_lines(client, answer) if has_lines else {}
    if form is Form.json:
        print_json(answer if found is None else {**answer, "findings": found["items"]}, indent=2)
    elif form is Form.md:
        typer.echo("\n".join(_markdown(answer, found, lines)))
    else:
        console = stdout()
        for line in _lines(answer, found, lines):
            console.print(line)
    if margin is None:
        return
    status = exit_status(answer["duration"])
    if status and not (status == _UNKNOWN and allow_unknown):
        raise typer.Exit(status)


def _changed_lines(client: Api, answer: CompareAnswer) -> _SampledLines:
    """The lines whose share of the samples changed, of the functions that changed the most."""
    changed = [one for one in answer["functions"] if one["verdict"] in ("slower", "faster")]
    a, b = (
        [f"{run['session']}/{run['job_id']}" for run in side["runs"]] for side in (answer["a"], answer["b"])
    )
    found = {}
    for one in changed[:_SAMPLED_FUNCTIONS]:
        compared = client.compare_lines(a, b, one["name"], one["renamed_from"])
        found[one["name"]] = [line for line in compared["items"] if line["verdict"] != "cannot_tell"]
    return found


def _sampled(lines: _SampledLines, quote: Quote) -> list[str]:
    """The lines whose share of the samples of their function changed, as sentences."""
    found = []
    for name, items in lines.items():
        for line in items[:_SAMPLED_LINES]:
            place = place_of(line)
            change = f"{100 * (line['b_share'] - line['a_share']):+.1f}".replace("-", "−")
            found.append(
                f"{quote(name)}: {quote(place)} in {quote(line['function'])}, {line['a_share']:.0%} → "
                f"{line['b_share']:.0%} of its samples ({change} ± {line['points']:.1f} points)"
            )
    return found


def _address(side: Side) -> str:
    """The run of a side that is shown."""
    return f"{side['shown']['session']}/{side['shown']['job_id']}"


def exit_status(change: DurationChange) -> int:
    """Return 0 if B is at most the margin slower, 3 if it is slower, and 4 if neither is certain."""
    low, high, limit = change["low"], change["high"], 1 + change["margin"]
    if high is not None and high <= limit:
        return 0
    return _SLOWER if low is not None and low > 1 and change["ratio"] > limit else _UNKNOWN


def _share_text(share: float) -> str:
    return f"{100 * share:.3g}%"


def _percent(ratio: float) -> str:
    return f"{ratio - 1:+.1%}".replace("-", "−")


def head(answer: CompareAnswer) -> str:
    """The verdict on the duration, as sentences."""
    change, a, b = answer["duration"], answer["a"], answer["b"]
    times = f"{duration(change['b_ns'])} instead of {duration(change['a_ns'])}"
    runs = f"{len(a['runs'])} against {counted(len(b['runs']), 'run')}"
    if left_out := len(a["left_out"]) + len(b["left_out"]):
        runs += f", {counted(left_out, 'warm-up run')} left out"
    text = f"{_VERDICTS[change['verdict']]}: {_percent(change['ratio'])}, {times} ({runs})."
    if change["low"] is not None and change["high"] is not None:
        text += f" The change lies between {_percent(change['low'])} and {_percent(change['high'])}"
        text += f"; equal runs vary by {change['spread']:.1%}." if change["spread"] is not None else "."
    if change["verdict"] != "cannot_tell":
        return text
    if change["more_runs"] is not None:
        more = counted(change["more_runs"], "more run")
        return f"{text} About {more} on each side would show a change of {_share_text(change['margin'])}."
    if change["spread"] is None:
        return f"{text} One run on each side cannot tell chance from change. Add runs of the same program."
    return f"{text} The runs vary too much for a change of {_share_text(change['margin'])} to show."


def _cause(part: WaterfallPart, quote: Quote) -> str:
    if part["phase"] in ("executing", "awaiting"):
        name = quote(part["function"]) if part["function"] else "a task"
        return name if part["phase"] == "executing" else f"{name}, awaiting"
    names = {**CAUSE_NAMES, "others": "all others", "not_followed": "not followed"}
    return names.get(part["phase"], part["phase"])


def _signed(ns: int) -> str:
    return duration(ns) if ns <= 0 else f"+{duration(ns)}"


def _rows(answer: CompareAnswer, quote: Quote) -> Iterator[tuple[str, str, str, str]]:
    """The parts of the difference: change, cause, and the times in A and B."""
    parts = [part for part in answer["waterfall"] if part["change_ns"]]
    kept, rest = parts[:_PARTS], parts[_PARTS:]
    for part in kept:
        yield _signed(part["change_ns"]), _cause(part, quote), duration(part["a_ns"]), duration(part["b_ns"])
    if rest:
        a_ns, b_ns = sum(part["a_ns"] for part in rest), sum(part["b_ns"] for part in rest)
        yield _signed(b_ns - a_ns), "all others", duration(a_ns), duration(b_ns)


def _function(item: FunctionChange, quote: Quote) -> str:
    """A function whose verdict is a change, as a sentence."""
    name = quote(item["name"])
    if item["verdict"] in ("new", "gone"):
        side = item["b"] or item["a"]
        return f"{name} is {item['verdict']}: {duration(side['total_ns'] if side else None)} in all"
    text = f"{name} is {item['verdict']}"
    a, b = item["a"], item["b"]
    if a is None or b is None or item["ratio"] is None or item["own_ratio"] is None:
        return text
    change, own = (_percent(ratio) for ratio in (item["ratio"], item["own_ratio"]))
    text += f": {change}, {duration(b['mean_ns'])} instead of {duration(a['mean_ns'])} each"
    if own != change:
        text += f", {own} beyond the change of most functions"
    if item["renamed_from"]:
        text += f", if it is what {quote(item['renamed_from'])} was"
    if a["input_bytes"] and b["input_bytes"]:
        ratio = b["input_bytes"] / a["input_bytes"]
        if abs(ratio - 1) >= 0.1:
            text += f", for {ratio:.2g} times the data"
    return text


def _functions(answer: CompareAnswer, quote: Quote) -> list[str]:
    """The functions that changed, as sentences."""
    changed = [one for one in answer["functions"] if one["verdict"] not in ("no_change", "cannot_tell")]
    found = [_function(one, quote) for one in changed[:_FUNCTIONS]] + _more(len(changed) - _FUNCTIONS)
    if abs(answer["common"] - 1) >= _MIN_COMMON:
        found.insert(
            0,
            f"Most functions took {answer['common']:.2f} times as long per attempt; "
            "the verdicts are about what is beyond that",
        )
    return found


def _warning(warned: Warned, quote: Quote) -> str:
    a, b = (", ".join(map(quote, side)) or "nothing" for side in (warned["a"], warned["b"]))
    return f"{_WARNINGS.get(warned['code'], warned['code'])} (A: {a}; B: {b})."


def _value(values: list[str] | None, same_chars: int, quote: Quote) -> str:
    if values is None:
        return "not recorded"
    skipped = same_chars if same_chars > _MAX_SAME else 0
    text = "; ".join(f"…{value[skipped:]}" if skipped else value for value in values)
    return quote(text if len(text) <= _MAX_VALUE else f"{text[: _MAX_VALUE - 1]}…")


def _differences(answer: CompareAnswer, quote: Quote) -> list[str]:
    return [
        f"{quote(one['what'])}: "
        + " → ".join(_value(side, one["same_chars"], quote) for side in (one["a"], one["b"]))
        for one in answer["differences"][:_DIFFERENCES]
    ] + _more(len(answer["differences"]) - _DIFFERENCES)


def _findings(answer: ComparedFindings | None, quote: Quote) -> list[str]:
    """The findings that came, went, or stayed, as sentences."""
    if answer is None:
        return []
    if answer["too_large"]:
        return ["A run has too many attempts to look for findings"]
    items, limited = answer["items"], answer["not_replayed"]
    lines = [_finding(item, limited, quote) for item in items[:_FUNCTIONS]]
    return lines + _more(len(items) - _FUNCTIONS)


def _finding(item: ComparedFinding, limited: Sequence[str], quote: Quote) -> str:
    where = item["function"] or item["actor_class"]
    place = f" ({quote(where)})" if where else ""
    a, b = (
        "-" if share is None else f"{'at most ' if side in limited else ''}{share:.0%}"
        for side, share in (("a", item["a_share"]), ("b", item["b_share"]))
    )
    return f"{_FINDINGS[item['change']]}: {item['title']}{place}, {a} → {b}"


def _more(count: int) -> list[str]:
    """A line that says how many lines are missing."""
    return [f"{count:,} more: use --format json"] if count > 0 else []


def _difference_title(answer: CompareAnswer) -> str:
    title = "Where the difference comes from"
    if len(answer["a"]["runs"]) == len(answer["b"]["runs"]) == 1:
        return title
    change_ns = answer["b"]["shown"]["duration_ns"] - answer["a"]["shown"]["duration_ns"]
    return f"{title}, in the median runs: {_signed(change_ns)}"


def _lines(
    answer: CompareAnswer, findings: ComparedFindings | None, sampled: _SampledLines
) -> Iterator[Text]:
    yield Text(head(answer), style="bold")
    for warned in answer["warnings"]:
        yield Text(f"  {_warning(warned, shown)}", style="yellow")
    yield Text(f"\n{_difference_title(answer)}", style="bold")
    for change, cause, before, after in _rows(answer, shown):
        yield Text(f"  {change:>10}  {cause:40} {before:>9} → {after}")
    for title, lines in (
        ("Findings", _findings(findings, shown)),
        ("What changed", _functions(answer, shown)),
        ("Where they spend a different share of their time", _sampled(sampled, shown)),
        ("What else differs", _differences(answer, shown)),
    ):
        if lines:
            yield Text(f"\n{title}", style="bold")
            yield from (Text(f"  {line}") for line in lines)


def _markdown(
    answer: CompareAnswer, findings: ComparedFindings | None, sampled: _SampledLines
) -> Iterator[str]:
    yield from (f"**{head(answer)}**", "")
    for warned in answer["warnings"]:
        yield f"> {_warning(warned, _code)}"
    yield from ("", f"{_difference_title(answer)}:", "")
    yield from ("| Change | Where | Before | After |", "|---:|---|---:|---:|")
    for change, cause, before, after in _rows(answer, _code):
        yield f"| {change} | {cause} | {before} | {after} |"
    for lines in (
        _findings(findings, _code),
        _functions(answer, _code),
        _sampled(sampled, _code),
        _differences(answer, _code),
    ):
        if lines:
            yield ""
            yield from (f"- {line}" for line in lines)


def _code(text: str) -> str:
    """A text as code, so that no part of it is Markdown."""
    return f"`{shown(text).replace('`', chr(39)).replace('|', chr(92) + '|')}`"
