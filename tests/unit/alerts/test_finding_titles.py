"""Chinese titles of findings in the Chinese texts of alerts."""

from __future__ import annotations

import re
from pathlib import Path

from rayscope.alerts.finding_titles import FINDING_TITLES_ZH
from rayscope.alerts.rules import SHIPPED, named, parse_rules
from rayscope.alerts.state import Machine
from rayscope.alerts.templating.evaluate import Rendering

UI = Path(__file__).parents[3] / "web/src/base/i18n/zh.insights.ts"


def test_the_titles_are_those_of_the_ui() -> None:
    assert dict(re.findall(r"^  (\w+): \{\n    title: '(.+)',$", UI.read_text(), re.M)) == FINDING_TITLES_ZH


def test_an_alert_about_a_finding_is_in_one_language() -> None:
    rule = named(parse_rules(SHIPPED.read_text(), "shipped").rules, "CostlyFinding")
    labels = {"script": "train.py", "kind": "hang", "title": "The job hangs", "function": "load"}
    own = {**labels, "kind": "of_a_plug_in", "title": "Mine"}
    rendered = Machine(rule).render([(labels, 20.0), (own, 20.0)], Rendering()).alerts.values()
    texts = [annotations for _, annotations, _ in rendered]
    assert texts[0]["summary"] == "train.py: The job hangs (load) costs 20% of the time"
    assert texts[0]["summary_zh"] == "train.py：作业卡住（load）耗费了 20% 的时间"
    assert texts[1]["summary_zh"] == "train.py：Mine（load）耗费了 20% 的时间"
