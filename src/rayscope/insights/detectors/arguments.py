"""Arguments, closures and results that are sent in an expensive way."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from rayscope.insights.finding import DRIVER, Facts, Finding, function_or_class
from rayscope.insights.handovers import find_passed_values
from rayscope.insights.replay.recorded import ARGUMENT, GET, PUT, Sending
from rayscope.insights.risks import find_risks
from rayscope.insights.spans import Span, union_ns

#: Minimum number of copies of a value that counts as a pattern.
_MIN_COPIES = 4


class LargeArgument:
    """The same large value is passed by value to many calls, and stored anew for each of them.

    Limits: at least 4 calls of one function by the same task or the driver, each with an argument over 100 KB
    that has the same size and content. Contents are compared by samples of their bytes.

    Needs: the tracer in the workers, for the arguments.
    """

    kind = "large_argument"
    title = "A large argument is copied for each call"
    advice = (
        "{calls} calls of {function} got the same value of {argument_bytes} by value, so it was pickled and "
        "stored {calls} times. Store it once with ray.put, and pass the reference."
    )
    sketch = "value_ref = ray.put(value)\nrefs = [{function}.remote(value_ref, item) for item in items]"
    doc = "anti-pattern: passing the same large argument by value repeatedly harms performance"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions that get the same value repeatedly. The cost is the time to submit all copies but one."""
        facts.require_tracer("their arguments")
        a = facts.attempts
        contents = {
            (one.task, one.bytes): one.code for one in facts.recorded.sendings if one.kind == "content"
        }
        # Values that the caller got from other tasks are separate values, even if they are equal.
        handed_on = {one.taker for one in find_passed_values(facts) if one.is_certain}
        same: dict[tuple[int, str, int, str], set[int]] = defaultdict(set)
        passed = facts.recorded.passed
        by_value = passed.by_value & (passed.taker >= 0)
        for taker, size in zip(passed.taker[by_value].tolist(), passed.bytes[by_value].tolist(), strict=True):
            if (taker, size) in contents and taker not in handed_on:
                row = facts.last_rows[taker]
                same[int(a.parent[row]), facts.name(row), size, contents[taker, size]].add(taker)
        for (caller, function, size, _), tasks in same.items():
            if len(tasks) < _MIN_COPIES:
                continue
            copies = sorted((facts.submission(task) for task in tasks), key=lambda span: span[1] - span[0])
            yield Finding(
                union_ns(copies[:-1]),
                function=function,
                caller=facts.caller(caller),
                numbers={
                    "calls": len(tasks),
                    "argument_bytes": size,
                    "copying_ns": sum(end - begin for begin, end in copies[:-1]),
                },
                filters={"func_name": function},
            )


#: Functions whose pickled size, in bytes, exceeds this must contain more than code, which takes a few KB. Ray
#: warns at 10 MB and refuses functions of 100 MB.
_LARGE_BYTES = 1_000_000


class LargeClosure:
    """A function or a class of actors captures a large object, which each worker loads along with its code.

    Limits: a pickled function or class of more than 1 MB.

    Needs: the tracer in the process that calls the function first.
    """

    kind = "large_closure"
    title = "A function carries a large object along"
    advice = (
        "{function} is {code_bytes} when pickled, since it uses a large object that is defined outside of "
        "it. Ray uploads it with the code, and each worker downloads and unpickles it: {loading_ns} for "
        "{workers} workers. Store the object with ray.put, and pass the reference as an argument."
    )
    sketch = "data_ref = ray.put(data)\nrefs = [{function}.remote(data_ref, item) for item in items]"
    doc = "anti-pattern: closure capturing large objects harms performance"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Large functions. The cost is the time to send and load their code."""
        facts.require_tracer("their functions")
        a = facts.attempts
        large: dict[str, list[Sending]] = defaultdict(list)
        for one in facts.recorded.sendings:
            if one.kind == "export" and one.bytes > _LARGE_BYTES:
                large[one.code].append(one)
        for code, sent in large.items():
            rows = np.flatnonzero(a.code.equals(code))
            if not len(rows):
                continue
            loads = [facts.loading(row) for row in rows[a.loading[rows] > 0].tolist()]
            name = facts.name(rows[0])
            function, actor_class = function_or_class(name)
            yield Finding(
                union_ns([*loads, *((one.begin, one.end) for one in sent)]),
                function=function,
                actor_class=actor_class,
                numbers={
                    "code_bytes": max(one.bytes for one in sent),
                    "workers": len(set(a.worker[rows].tolist()) - {-1}),
                    "loading_ns": sum(end - begin for begin, end in loads),
                },
                filters={"func_name": name},
            )


#: Several functions may share a name, but we assume that at least this many definitions come from a loop ...
_MIN_DEFINITIONS = 5
#: ... if each of them is called at most this many times on average.
_MAX_CALLS_EACH = 4


class RedefinedFunction:
    """A remote function or class is redefined for nearly every call, so workers must load each definition.

    Limits: at least 5 definitions with the same name, which are called at most 4 times each on average.

    Needs: Ray's hashes of functions, which are always recorded. The time to send the definitions is known
    only with the tracer in the caller.
    """

    kind = "redefined_function"
    title = "A function is redefined for each call"
    advice = (
        "{function} was defined {definitions} times for {calls} calls. Each definition was pickled, uploaded "
        "and loaded by workers, which took {loading_ns} in all. Define it once, outside of the loop or the "
        "function that calls it, and pass what differs as arguments."
    )
    sketch = "@ray.remote\ndef {function}(item): ...\n\n\nrefs = [{function}.remote(item) for item in items]"
    doc = "anti-pattern: redefining the same remote function or class harms performance"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Names with many definitions. The first definition, and the first load by each worker, do not count
        as a cost.
        """
        a = facts.attempts
        exports: dict[str, list[Span]] = defaultdict(list)
        for one in facts.recorded.sendings:
            if one.kind == "export":
                exports[one.code].append((one.begin, one.end))
        is_known = ~a.code.equals("")
        for name, rows in facts.rows_of_function.items():
            known = rows[is_known[rows]]
            numbers = list(dict.fromkeys(a.code.codes[known].tolist()))
            if len(numbers) < _MIN_DEFINITIONS or len(known) > _MAX_CALLS_EACH * len(numbers):
                continue
            codes = [a.code.values[number] for number in numbers]
            began = known[a.start[known] >= 0]
            began = began[np.argsort(a.start[began], kind="stable")]
            _, firsts = np.unique(a.worker[began], return_index=True)
            spans = [span for code in codes[1:] for span in exports[code]]
            spans += map(facts.loading, np.delete(began, firsts).tolist())
            function, actor_class = function_or_class(name)
            yield Finding(
                union_ns(spans),
                function=function,
                actor_class=actor_class,
                numbers={
                    "definitions": len(codes),
                    "calls": len(known),
                    "loading_ns": sum(end - begin for begin, end in spans),
                },
                filters={"func_name": name},
            )


#: A pickled reference takes some 250 bytes, so values smaller than this, in bytes, cannot contain one.
_MIN_REFERENCE_BYTES = 150
#: Minimum number of tasks that counts as a pattern.
_MIN_TASKS = 4


class ReturnPut:
    """Tasks put their result into the object store and return a reference to it, instead of the result.

    Limits: at least 4 calls of a function, and at least half of all its calls. Their caller gets the object
    that they put or passes it on, and the value that they return is large enough to contain a reference.

    Needs: the tracer in the caller and in the workers.
    """

    kind = "return_put"
    title = "Tasks return references of ray.put"
    advice = (
        "{calls} calls of {function} store their result with ray.put and return the reference. The caller "
        "must get twice, which took {blocked_ns} more; small results cannot be sent along with the answer, "
        "and all are lost with the worker that put them. Return the values, with num_returns or a generator "
        "for several."
    )
    sketch = "@ray.remote\ndef {function}(item):\n    return result  # not ray.put(result)"
    doc = "anti-pattern: returning ray.put() ObjectRefs from a task harms performance and fault tolerance"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions whose callers use the objects that their tasks put. The cost is the time spent in ray.get
        for these objects.
        """
        facts.require_tracer("what they put")
        a = facts.attempts
        passed, last_rows = facts.recorded.passed, facts.last_rows
        is_put = (passed.kind == PUT) & (passed.maker >= 0)
        is_put[is_put] = a.returned_bytes[last_rows[passed.maker[is_put]]] >= _MIN_REFERENCE_BYTES
        maker_of = dict(zip(passed.key[is_put].tolist(), passed.maker[is_put].tolist(), strict=True))
        is_taken = (passed.kind != PUT) & (passed.taker >= DRIVER) & np.isin(passed.key, passed.key[is_put])
        tasks: dict[str, set[int]] = defaultdict(set)
        gets: dict[str, list[Span]] = defaultdict(list)
        columns = (passed.kind, passed.key, passed.taker, passed.begin, passed.end)
        for kind, key, taker, begin, end in zip(*(one[is_taken].tolist() for one in columns), strict=True):
            row = int(last_rows[maker_of[key]])
            by = a.parent[facts.first_rows[taker]] if kind == ARGUMENT and taker >= 0 else taker
            if by == a.parent[row] and end >= a.returned[row] >= 0:
                tasks[facts.name(row)].add(maker_of[key])
                if kind == GET:
                    gets[facts.name(row)].append((max(begin, int(a.returned[row])), end))
        for function, makers in tasks.items():
            if len(makers) >= max(_MIN_TASKS, len(facts.rows_of_function[function]) / 2):
                blocked_ns = union_ns(gets[function])
                yield Finding(
                    blocked_ns,
                    function=function,
                    is_risk=True,
                    caller=facts.caller(int(a.parent[facts.first_rows[min(makers)]])),
                    numbers={"calls": len(makers), "blocked_ns": blocked_ns},
                    filters={"func_name": function},
                )


class OutOfBandReference:
    """A program pickles references itself or uses them in a function's code, so Ray never frees their
    objects.

    Limits: a single reference is enough. It counts if ``ray.cloudpickle`` pickles it for anything other than
    a call, a result or ``ray.put``, or if a remote function uses it although it was created outside of the
    function. References pickled by Ray's libraries do not count. Pickling with Python's own ``pickle``, which
    silently drops the owner of a reference, is not detected. The number of references that a process pickles
    is rounded down to a power of ten.

    Needs: the tracer in the process that pickles the references.
    """

    kind = "out_of_band_reference"
    title = "References are pickled outside of Ray"
    advice = (
        "References pickled at {place}: at least {references}, by the program itself or with the code of a "
        "function that uses them. Ray cannot know who else will, so it keeps their objects for as long as "
        "the process lives. Pass references as arguments or return values, also inside lists, dicts and "
        "objects."
    )
    sketch = "ref = use.remote([table_ref])  # not use.remote(cloudpickle.dumps(table_ref))"
    doc = "anti-pattern: serialize ray.ObjectRef out of band"

    def find(self, facts: Facts) -> Iterable[Finding]:
        """Functions, and the driver, with the places where they pickle references."""
        return find_risks(facts, "pickled_reference", "references")
