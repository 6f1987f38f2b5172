"""Count names and sentences that read like a translation, and keep their number from rising.

    python tools/language.py                     # a table of the rooms
    python tools/language.py --lines [PATH ...]  # each hit as path:line, of all files or of these
    python tools/language.py --check             # fails where a room has more hits than its bound
    python tools/language.py --lower             # takes today's counts as the bounds

A room is a top-level package of src/rayscope; web, docs, tests, tools and benchmarks are rooms too. The texts
of the UI are not judged. The check also judges the subjects of commits that the main branch does not have.
"""

from __future__ import annotations

import argparse
import ast
import functools
import io
import json
import re
import subprocess
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
COUNTS = Path("tools/language_counts.json")
EXCEPTIONS = Path("tools/language_exceptions.txt")
MAX_EXCEPTIONS = 40
MAX_SUBJECT_CHARS = 72
MAIN_BRANCHES = ("main", "origin/main")
KINDS = ("name", "sentence")
#: Maximum number of hits to print for each bound that is exceeded.
MAX_HITS_SHOWN = 20

#: Pro-words and bare participles.
NAMES = re.compile(
    r"_*(told|untold|tell|teller|telling|asked|given|made|found|one|many|listed|acted|wanted|laid|kept|begun|"
    r"looked|gone|sure|least|most|beside|elsewhere|silent|standstill|handovers|whenever|acts|bring|give_back)s?_*"
    r"|_*(?:[a-z0-9]+_)?(?:un)?(?:told|tells?|teller|telling)(?:_[a-z0-9]+)?",
    re.IGNORECASE,
)
#: Acceptable for variables in functions, but odd for functions, classes, parameters, and module-level names.
LOCAL_NAMES = re.compile(
    r"_*(found|one|most|least|made|given|asked|wanted|kept|gone|beside)s?_*", re.IGNORECASE
)
WORDS = re.compile(
    r"\b(told(?! apart| from)|tells? (?:how|what|that|so|of|which|who|when)|whoever|whatever else|else than|"
    r"goes on|go on|went on|so many(?! that)|beforehand|all the same|of its own accord|one by one more|"
    r"as good as|is over|are over|all that|such as these|has it that|from there on|and its kin|in its place|"
    r"no more than that|stands? (?:in(?! for)|at|on(?! its own)|so|elsewhere|beside))\b",
    re.IGNORECASE,
)
#: "How long a session is kept." is good English, "Of a range the share ..." is not.
INVERTED = re.compile(
    r"^(?:Of(?! course\b| these\b| those\b)|Who|Whose"
    r"|What(?! (?:to|happens|happened|else|is new|is (?:not )?supported|changed?)\b)"
    r"|How(?! (?:long|many|much|often|far|to|fast|full|large|old|soon|the|a|an|each|one)\b)) [a-z]"
)
CODE = re.compile(r"```.*?```|`[^`]*`|https?://\S+", re.DOTALL)
SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|\n\s*\n|\n\s*[-*|#]")
TYPESCRIPT_COMMENT = re.compile(r"/\*\*?(.*?)\*/|(?<![:\"'])//([^\n]*)", re.DOTALL)
TYPESCRIPT_NAME = re.compile(r"\b(?:function|class|interface|type|const|let)\s+(\w+)")
GENERATED = ("api/schema.ts", ".gen.ts")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
EXCEPTION = re.compile(r'(\S+): (".*") # (\S.*)')
#: Marks a line break in code, so that the text after it keeps its line.
_BREAK = "\ue000"
_LAYOUT = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)


class Item(NamedTuple):
    """A checked name or sentence."""

    kind: str
    line: int
    text: str
    is_odd: bool


class Hit(NamedTuple):
    """An odd name or an odd sentence of a room."""

    room: str
    kind: str
    path: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.kind}: {self.text}"


#: How many names and sentences are odd, by room and kind.
Counts = dict[str, dict[str, int]]


class LanguageError(Exception):
    """A file of the check is invalid, or a count rose. The message has the remedy."""


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a text without its code, each with the number of lines before it."""
    text = CODE.sub(lambda match: "X" + _BREAK * match.group().count("\n"), text)
    begin = 0
    for end in [*SENTENCE_END.finditer(text), None]:
        raw = text[begin : end.start() if end else None]
        if re.search(r"[A-Za-z]{2}", raw):
            before = text[:begin] + raw[: len(raw) - len(raw.lstrip())]
            yield before.count("\n") + before.count(_BREAK), raw.replace(_BREAK, "").strip()
        begin = end.end() if end else begin


def is_odd_sentence(text: str) -> bool:
    return bool(WORDS.search(text) or (INVERTED.match(text) and not text.endswith("?")))


@functools.cache
def is_odd_name(name: str, is_local: bool = False) -> bool:
    return bool(NAMES.fullmatch(name)) and not (is_local and LOCAL_NAMES.fullmatch(name))


def _prose(line: int, text: str) -> Iterator[Item]:
    for offset, sentence in sentences(text):
        yield Item("sentence", line + offset, " ".join(sentence.split()), is_odd_sentence(sentence))


def python_items(source: str) -> Iterator[Item]:
    """Yield the names, docstrings, and comments of a Python file."""
    tree = ast.parse(source)
    assignments = [node for node in tree.body if isinstance(node, ast.Assign | ast.AnnAssign)]
    module_level = {id(node) for assignment in assignments for node in ast.walk(assignment)}
    for node in ast.walk(tree):
        yield from _python_names(node, id(node) in module_level)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            docstring = ast.get_docstring(node)
            if docstring:
                yield from _prose(node.body[0].lineno, docstring)
    for assignment in assignments:
        target = assignment.targets[0] if isinstance(assignment, ast.Assign) else None
        if isinstance(target, ast.Tuple) and len(target.elts) > 2:
            yield Item("name", assignment.lineno, "several constants in one line", True)
    yield from _python_comments(source)


def _python_names(node: ast.AST, is_module_level: bool) -> Iterator[Item]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        yield Item("name", node.lineno, node.name, is_odd_name(node.name))
        for each in node.args.posonlyargs + node.args.args + node.args.kwonlyargs:
            yield Item("name", each.lineno, each.arg, is_odd_name(each.arg))
    elif isinstance(node, ast.ClassDef):
        yield Item("name", node.lineno, node.name, is_odd_name(node.name))
    elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        yield Item("name", node.lineno, node.id, is_odd_name(node.id, is_local=not is_module_level))
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        yield Item("name", node.lineno, node.attr, is_odd_name(node.attr, is_local=True))


def _python_comments(source: str) -> Iterator[Item]:
    """Yield comments. Consecutive comment lines are one text."""
    block: list[str] = []
    line = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            line = line if block else token.start[0]
            block.append(token.string.lstrip("#: "))
        elif block and token.type not in _LAYOUT:
            yield from _prose(line, " ".join(block))
            block = []


def typescript_items(source: str) -> Iterator[Item]:
    """Yield the names and comments of a TypeScript file."""
    for match in TYPESCRIPT_COMMENT.finditer(source):
        line = source.count("\n", 0, match.start()) + 1
        text = re.sub(r"\n\s*\*", " ", match[1] or match[2] or "")
        for item in _prose(line, text):
            yield item._replace(line=line)
    for match in TYPESCRIPT_NAME.finditer(source):
        line = source.count("\n", 0, match.start()) + 1
        yield Item("name", line, match[1], is_odd_name(match[1], is_local=True))


def room_of(path: str) -> str | None:
    """Return the room of a file by its path from the root, or None if its language is not checked."""
    folders, _, name = path.rpartition("/")
    first, *rest = folders.split("/")
    if path.endswith(GENERATED):
        return None
    if folders.startswith("src/rayscope") and name.endswith(".py"):
        return rest[1] if len(rest) > 1 else "(top)"
    if first in ("tests", "tools", "benchmarks") and name.endswith(".py"):
        return first
    if folders.startswith("web/src") and re.search(r"\.ts[^.]*$", name):
        return None if re.fullmatch(r"(en|zh)\.ts[^.]*", name) else "web"
    if path in PAGES or (first == "docs" and name.endswith(".md") and "zh" not in rest):
        return "docs"
    return None


def items_of(path: str, source: str) -> Iterator[Item]:
    """Yield the names and sentences of a file."""
    if path.endswith(".py"):
        return python_items(source)
    return _prose(1, source) if path.endswith(".md") else typescript_items(source)


class Report:
    """All hits in the files of a checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.judged: Counter[tuple[str, str]] = Counter()
        self.hits: list[Hit] = []
        self.exceptions = read_exceptions(root)
        self.used: set[tuple[str, str]] = set()
        for path in _files(root):
            self._add(path)

    def _add(self, path: str) -> None:
        room = room_of(path)
        if room is None:
            return
        for item in items_of(path, (self.root / path).read_text()):
            self.judged[room, item.kind] += 1
            if item.is_odd and (path, item.text) in self.exceptions:
                self.used.add((path, item.text))
            elif item.is_odd:
                self.hits.append(Hit(room, item.kind, path, item.line, item.text))

    @property
    def counts(self) -> Counts:
        counts: Counts = {room: dict.fromkeys(KINDS, 0) for room, _ in sorted(self.judged)}
        for hit in self.hits:
            counts[hit.room][hit.kind] += 1
        return counts


def _files(root: Path) -> Iterator[str]:
    code = [f"{folder}/**/*.py" for folder in ("src/rayscope", "tests", "tools", "benchmarks")]
    for pattern in (*code, "web/src/**/*.ts*", "docs/**/*.md", *PAGES):
        yield from sorted(path.relative_to(root).as_posix() for path in root.glob(pattern))


def read_exceptions(root: Path) -> dict[tuple[str, str], str]:
    """Return the reason of each exception, by path and text."""
    file = root / EXCEPTIONS
    lines = file.read_text().splitlines() if file.exists() else []
    exceptions = {}
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#"):
            continue
        match = EXCEPTION.fullmatch(line)
        if match is None:
            raise LanguageError(f'{EXCEPTIONS}:{number}: write this line as `path: "exact text" # reason`.')
        exceptions[match[1], json.loads(match[2])] = match[3]
    if len(exceptions) > MAX_EXCEPTIONS:
        raise LanguageError(
            f"{EXCEPTIONS} has {len(exceptions)} exceptions; at most {MAX_EXCEPTIONS} are allowed. "
            "Rewrite the sentences instead."
        )
    return exceptions


def read_bounds(text: str) -> Counts:
    bounds: Counts = json.loads(text)
    return bounds


def format_bounds(counts: Counts) -> str:
    """Format the bounds as a file with one line per room."""
    rows = [f"  {json.dumps(room)}: {json.dumps(counts[room])}" for room in sorted(counts)]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def bound(bounds: Counts, room: str, kind: str) -> int:
    return bounds.get(room, {}).get(kind, 0)


def total(counts: Counts, kind: str) -> int:
    return sum(bound(counts, room, kind) for room in counts)


class Git:
    """The commits of a checkout. Outside of git, and in a clone without the main branch, none are checked."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self.is_checkout = self._run("rev-parse", "--show-toplevel") == str(root.resolve())
        branch = self._run("rev-parse", "--abbrev-ref", "HEAD")
        others = [name for name in MAIN_BRANCHES if name != branch] if self.is_checkout else []
        bases = [self._run("merge-base", "HEAD", name) for name in others]
        #: The commits at which this branch left the main branch, here and at the origin.
        self.merge_bases = [base for base in bases if base]

    def _run(self, *arguments: str) -> str | None:
        try:
            command = ["git", "-C", str(self._root), *arguments]
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    def new_subjects(self) -> list[tuple[str, str]]:
        """Return the short hash and subject of each commit that is not on the main branch."""
        if not self.merge_bases:
            return []
        log = self._run("log", "--no-merges", "--format=%h %s", "HEAD", "--not", *self.merge_bases)
        return [(line.partition(" ")[0], line.partition(" ")[2]) for line in (log or "").splitlines()]

    def old_text(self, path: str) -> str | None:
        """Return a file's content on the main branch, or in the last commit if that branch is unknown."""
        base = self.merge_bases[0] if self.merge_bases else "HEAD"
        return self._run("show", f"{base}:{path}") if self.is_checkout else None


def check(root: Path) -> list[str]:
    """Return a message for each bound, exception, and commit subject that is wrong."""
    report = Report(root)
    git = Git(root)
    bounds = read_bounds((root / COUNTS).read_text())
    problems = []
    for room, kinds in report.counts.items():
        for kind, count in kinds.items():
            if count > bound(bounds, room, kind):
                problems.append(_rise(report, git, room, kind, bound(bounds, room, kind)))
    problems += _raised_sums(git, bounds)
    problems += [
        f"{EXCEPTIONS}: {path} has no odd name or sentence {json.dumps(text)}. Remove this line."
        for path, text in report.exceptions.keys() - report.used
    ]
    return problems + [
        f"commit {commit}: the subject {reason}: {subject}"
        for commit, subject in git.new_subjects()
        for reason in _faults(subject)
    ]


def _rise(report: Report, git: Git, room: str, kind: str, limit: int) -> str:
    hits = [hit for hit in report.hits if (hit.room, hit.kind) == (room, kind)]
    new = list(_new_hits(hits, git)) or hits
    shown = [f"  {hit}" for hit in new[:MAX_HITS_SHOWN]]
    if len(new) > len(shown):
        shown.append(f"  ... and {len(new) - len(shown)} more: python tools/language.py --lines")
    head = f"{room}: {len(hits)} odd {kind}s, the bound is {limit} ({COUNTS}). Rewrite these:"
    return "\n".join([head, *shown])


def _new_hits(hits: list[Hit], git: Git) -> Iterator[Hit]:
    """Yield the hits that the same file did not have before."""
    by_path = defaultdict(list)
    for hit in hits:
        by_path[hit.path].append(hit)
    for path, current in by_path.items():
        before = git.old_text(path)
        old = Counter(item.text for item in items_of(path, before or "") if item.is_odd)
        for hit in current:
            old[hit.text] -= 1
            if old[hit.text] < 0:
                yield hit


def _raised_sums(git: Git, bounds: Counts) -> Iterator[str]:
    """Yield a message if the bounds were raised by hand."""
    before = git.old_text(COUNTS.as_posix())
    for kind in KINDS if before else ():
        old = total(read_bounds(before or "{}"), kind)
        new = total(bounds, kind)
        if new > old:
            yield f"{COUNTS}: the bounds for {kind}s add up to {new}, more than before ({old}). Lower them."


def _faults(subject: str) -> Iterator[str]:
    if len(subject) > MAX_SUBJECT_CHARS:
        yield f"has {len(subject)} characters, more than {MAX_SUBJECT_CHARS}"
    if is_odd_sentence(subject):
        yield "reads like a translation"


def lower(root: Path) -> str:
    """Lower the bounds to the current counts. Raises LanguageError if their sum rises."""
    counts = Report(root).counts
    file = root / COUNTS
    bounds = read_bounds(file.read_text()) if file.exists() else counts
    for kind in KINDS:
        old, new = total(bounds, kind), total(counts, kind)
        if new > old:
            raise LanguageError(
                f"All rooms have {new} odd {kind}s, more than before ({old}). `make lint` shows them."
            )
    file.write_text(format_bounds(counts))
    return ", ".join(f"{total(bounds, kind)} -> {total(counts, kind)} odd {kind}s" for kind in KINDS)


def table(report: Report) -> str:
    """Return the counts of all rooms, the room with the most odd sentences first."""
    rows = sorted(report.counts.items(), key=lambda row: -row[1]["sentence"])
    lines = [f"{'room':<12} odd names   names   odd sentences   sentences   in 100"]
    judged = dict(report.judged)
    for kind in KINDS:
        judged["all", kind] = sum(count for (_, each), count in report.judged.items() if each == kind)
    for room, odd in [*rows, ("all", {kind: total(report.counts, kind) for kind in KINDS})]:
        names, prose = (judged.get((room, kind), 0) for kind in KINDS)
        share = 100 * odd["sentence"] / max(1, prose)
        lines.append(
            f"{room:<12} {odd['name']:>9} {names:>7} {odd['sentence']:>15} {prose:>11} {share:>8.1f}"
        )
    return "\n".join(lines)


def main(arguments: list[str], root: Path = ROOT) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--lines", nargs="*", metavar="PATH", help="print each hit, of all files or of these")
    action.add_argument("--check", action="store_true", help="fail where a count is above its bound")
    action.add_argument("--lower", action="store_true", help="take today's counts as the bounds")
    options = parser.parse_args(arguments)
    try:
        if options.lower:
            print(lower(root))
        elif options.check:
            problems = check(root)
            print("\n".join(problems) or "The language of no room got worse.")
            return 1 if problems else 0
        elif options.lines is not None:
            hits = Report(root).hits
            print("\n".join(str(hit) for hit in hits if not options.lines or hit.path in options.lines))
        else:
            print(table(Report(root)))
    except LanguageError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
