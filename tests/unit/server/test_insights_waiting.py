"""What the detectors of waiting find in records whose every number is known."""

from __future__ import annotations

import inspect

import pytest

from rayscope.insights.detect import load
from rayscope.insights.finding import Detector


@pytest.mark.parametrize("detector", load(), ids=lambda detector: detector.kind)
def test_a_detector_says_what_it_finds_from_which_sizes_on_and_of_what(detector: Detector) -> None:
    paragraphs = inspect.cleandoc(type(detector).__doc__ or "").split("\n\n")
    assert [text.partition(":")[0] for text in paragraphs[1:]] == ["Limits", "Needs"]
    assert all(text.endswith(".") for text in paragraphs)
