"""References that are pickled by other means than Ray's own."""

from __future__ import annotations

from collections.abc import Iterable

from rayscope.insights.finding import Facts, Finding
from rayscope.insights.risks import find_risks


class OutOfBandReference:
    """A program pickles references itself or has them in a function's code: Ray keeps their objects forever.

    Limits: one reference that ``ray.cloudpickle`` pickles other than for a call, a result or ``ray.put``, or
    that a remote function uses although it was created outside of it. References pickled by Ray's libraries
    do not count. Python's own ``pickle`` silently drops the owner of a reference, so it is not detected. How
    often a process does it is rounded down to a power of ten.

    Needs: the tracer in the process that pickles.
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
