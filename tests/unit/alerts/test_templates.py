"""Templates of labels and annotations: Prometheus' ``promtool`` renders the same ones."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import yaml
from tests.promqltest import PROMTOOL, Case, Group, Line, loaded

from rayscope.alerts.rules import Rule
from rayscope.alerts.service import AlertService
from rayscope.alerts.state import Machine, Rendered
from rayscope.alerts.templates import Template
from rayscope.alerts.templating.evaluate import MAX_QUERIES, MAX_RENDERED, Rendering
from rayscope.alerts.templating.values import Sample, TemplateError
from rayscope.metrics.tsdb.store import SeriesStore
from rayscope.storage.errors import BadQuery

URL = "https://rays.example:8700/prefix/here"
SERIES = Group(
    "10s",
    [
        Line('load{name="tiny", host="10.0.0.1:8080", text="a.b/c-d_e f"}', "0.000123456"),
        Line('load{name="five", host="node.example.org:9100", text="ÄÖ ß \\"q\\" <&>"}', "5"),
        Line('load{name="large", host="[::1]:80"}', "123456789.25"),
        Line('load{name="minus", host="node", text="upper case"}', "-3661.5"),
        Line('load{name="time", host="node.example.org", text="x1y22z333"}', "1700000000.789"),
        Line('load{name="zero", host="a:b:c", text="tab\\there"}', "0"),
        Line('free{gpu="0"}', "0.5"),
        Line('free{gpu="1"}', "0.25"),
    ],
    [Case("1", 0.0, [])],
)
EXPR = (
    'load or label_replace(vector(0) / 0, "name", "nan", "", "") '
    'or label_replace(-vector(1) / 0, "name", "-inf", "", "")'
)
RENDERED = [
    # Text, blanks and comments.
    "plain }} text",
    "a {{- /* none of it */ -}} b {{/* }} */}}c",
    "a \n {{- $value -}} \n b {{ $labels.name -}}   \tc",
    '{{ `raw \\n {{` }} {{ "a\\tb\\"\\u00e4\\x41\\101" }} {{ \'x\' }} {{ 0x1F }} {{ -1.5e3 }} {{ .5 }} {{ true }}',
    # Data and variables.
    "{{ $labels }} {{ .Labels.name }} {{ $labels.absent }} {{ .Value }} {{ $.Value }} {{ $value }}",
    "{{ $externalLabels }}{{ .ExternalLabels.x }} {{ $externalURL }}",
    "{{ $x := 1 }}{{ $x }}{{ $x = `two` }}{{ $x }}{{ if true }}{{ $x := 3 }}{{ $x = 4 }}{{ $x }}{{ end }}{{ $x }}",
    "{{ printf `%T %T %T %T` $value 1 `a` $labels }} {{ . }}",
    # Conditions and loops.
    "{{ if $labels.text }}has {{ $labels.text }}{{ else }}none{{ end }}",
    "{{ if eq $labels.name `five` `zero` }}A{{ else if lt $value 0.0 }}B{{ else if not $labels.absent }}C{{ end }}",
    "{{ if and (gt $value 1.0) (le $value 5.0) }}in{{ else }}out{{ end }} {{ or `` $labels.name }} {{ and 1 0 }}",
    "{{ eq $value 5.0 }} {{ ne $value 5.0 }} {{ lt $value 5.0 }} {{ le $value 5.0 }} {{ gt $value 5.0 }}"
    "{{ ge $value 5.0 }} {{ lt `a` `b` }} {{ $value | lt 4.0 }} {{ or false (not true) }}",
    "{{ with $labels.absent }}never{{ else }}{{ with $x := $labels.name }}{{ . }}{{ $x }}{{ end }}{{ end }}",
    "{{ range $labels }}<{{ . }}>{{ end }} {{ range $k, $v := $labels }}{{ $k }}={{ $v }},{{ end }}",
    "{{ range $i, $s := query `sort_desc(free)` }}{{ if $i }}{{ break }}{{ end }}{{ $s.Labels.gpu }}{{ end }}",
    "{{ range query `sort(free)` }}{{ if eq .Labels.gpu `0` }}{{ continue }}{{ end }}{{ .Value }}{{ end }}",
    "{{ range query `nothing_there` }}x{{ else }}no series{{ end }}",
    # Queries.
    "{{ with query `sum(free)` }}{{ . | first | value | humanizePercentage }}{{ end }}",
    '{{ query "free{gpu=\\"1\\"}" | first | label "gpu" }} {{ query `1 + 1` | first | value }}',
    '{{ range query `free` | sortByLabel "gpu" }}{{ .Labels.gpu }}: {{ .Value }} {{ . }}; {{ end }}',
    "{{ with printf \"load{name='%s'}\" .Labels.name | query }}{{ (. | first).Labels.host }}{{ end }}",
    "{{ len (query `free`) }} {{ len $labels.text }} {{ len $labels }} {{ (index (query `sum(free)`) 0).Value }}",
    # Numbers.
    "{{ humanize $value }} {{ $value | humanize1024 }} {{ $value | humanizeDuration }} {{ humanizePercentage $value }}",
    "{{ humanize `12345` }} {{ humanizeDuration 90 }} {{ humanize1024 4096 }} {{ `NaN` | humanizeDuration }}",
    "{{ if lt $value 1e10 }}{{ humanizeTimestamp $value }}{{ end }} {{ humanizeTimestamp 1500000000.25 }}",
    "{{ parseDuration `1h30m` }} {{ 1e21 }} {{ 100000.0 }} {{ 1000000.0 }} {{ 0.0001 }} {{ 0.00001 }} {{ 1.0 }}",
    "{{ printf `%.2f|%8.1f|%-8.1f|%+.0f|%08.2f|%e|%.3g|%g|%G|%5v|% f|%#.3g` "
    "$value $value $value $value $value $value $value $value $value $value $value $value }}",
    "{{ printf `%d|%5d|%-5d|%05d|%+d|%x|%X|%o|%b|%v|%.4d` 42 42 42 -42 42 255 255 8 5 7 9 }}",
    "{{ printf `%*d|%.*f` 6 42 1 $value }}",
    # Texts.
    "{{ printf `%s|%10s|%-10s|%.2s|%q|%v|%x` $labels.name $labels.name $labels.name $labels.name $labels.text 1 `hi` }}",
    "{{ printf `%d %s %f %t %z` `a` $value 1 1 1 }} {{ printf `%s` }} {{ printf `x` 1 `y` }} {{ printf `100%%` }}",
    "{{ printf `%v %v %s %v` $labels (query `sum(free)` | first).Value $labels true }} {{ printf `%` }}",
    "{{ print 1 2 `a` `b` 3 4.5 }} {{ println `a` 1 true }}|",
    "{{ title $labels.text }} {{ toUpper $labels.text }} {{ $labels.text | toLower }}",
    "{{ reReplaceAll `[aeiou](.)?` `<$1>` $labels.text }} {{ reReplaceAll `x*` `-` `abc` }}",
    "{{ reReplaceAll `(?P<host>[^:.]+).*` `${host}!$$` $labels.host }} {{ match `^node` $labels.host }}",
    "{{ stripPort $labels.host }} {{ stripDomain $labels.host }}",
    "{{ html $labels.text }} {{ urlquery $labels.text }} {{ graphLink `up == 0` }} {{ tableLink `up` }}",
    "{{ slice `abcdef` 1 3 }} {{ index $labels `name` }} {{ index `abc` 1 }} {{ safeHtml `<b>` }}",
]
#: Templates that Prometheus refuses to load, and templates that it cannot render.
REFUSED = [
    "{{ $value", "{{ }}", "{{ nofunction 1 }}", "{{ $undefined }}", "{{ if true }}", "{{ end }}", "{{ else }}",
    "{{ break }}", "{{ 1 | 2 }}", "{{ 'ab' }}", "{{ ( 1 }}", "{{ $labels.a-b }}",
    '{{ "a }}', "{{ /* open }}",
]  # fmt: skip
FAILING = [
    "{{ query `nothing_there` | first | value }}", "{{ query `sum(` }}", "{{ toUpper $value }}", "{{ gt $value 5 }}",
    "{{ $labels.name.more }}", "{{ .Nothing }}", "{{ range $value }}{{ end }}", "{{ reReplaceAll `(` `` `` }}",
    "{{ humanize `x` }}", "{{ first 1 }}", "{{ toUpper }}", "{{ 1 2 }}", "{{ humanizeTimestamp 1e30 }}",
    "{{ eq 1 `a` }}", "{{ index `abc` 7 }}", "{{ parseDuration `soon` }}", "{{ parseDuration `NaN` }}", "{{ slice `abc` 2 1 }}", "{{ $x = 1 }}",
]  # fmt: skip


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> AlertService:
    folder = tmp_path_factory.mktemp("alerts")
    store = loaded(SERIES)
    return AlertService(folder, live=list, store=lambda _: store, home=lambda _: folder, url=lambda: URL)


def rendered(service: AlertService, template: str) -> Rendered:
    """The alerts of a rule whose annotation has the template, for each series."""
    store: SeriesStore = loaded(SERIES)
    rule = Rule("T", EXPR, "g", "f", annotations={"text": template})
    now = service.rendering(store, 0)
    vector = [(sample.labels, sample.value) for sample in now.samples(EXPR)]
    return Machine(rule).render(vector, now)


def promtool(folder: Path, templates: list[str], expected: list[list[dict[str, object]]]) -> str:
    """Its report on rules with these templates and the alerts expected of each; "" if all are as expected."""
    rules = [
        {"alert": f"T{number}", "expr": EXPR, "annotations": {"text": template}}
        for number, template in enumerate(templates)
    ]
    test = {
        "interval": SERIES.interval,
        "external_url": URL,
        "input_series": [{"series": line.series, "values": line.values} for line in SERIES.lines],
        "alert_rule_test": [
            {"eval_time": "0s", "alertname": f"T{number}", "exp_alerts": alerts}
            for number, alerts in enumerate(expected)
        ],
    }
    (folder / "rules.yml").write_text(yaml.safe_dump({"groups": [{"name": "g", "rules": rules}]}))
    (folder / "test.yml").write_text(yaml.safe_dump({"rule_files": ["rules.yml"], "tests": [test]}))
    done = subprocess.run(
        [PROMTOOL, "test", "rules", "test.yml"], cwd=folder, capture_output=True, text=True, check=False
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_the_texts_are_those_of_prometheus(service: AlertService, tmp_path: Path) -> None:
    expected = []
    for template in RENDERED:
        ours = rendered(service, template)
        assert ours.problem is None, (template, ours.problem)
        expected.append(
            [
                {
                    "exp_labels": {key: text for key, text in labels.items() if key != "alertname"},
                    "exp_annotations": texts,
                }
                for labels, texts, _ in ours.alerts.values()
            ]
        )
    said = promtool(tmp_path, RENDERED, expected)
    assert not said, said


@pytest.mark.parametrize("template", REFUSED)
def test_invalid_templates_are_refused_with_the_rule(template: str, tmp_path: Path) -> None:
    with pytest.raises(BadQuery) as refused:
        Template(template)
    assert refused.value.remedy
    assert 'annotation "text": template: ' in promtool(tmp_path, [template], [[]])


def test_templates_that_cannot_be_rendered_say_so_in_the_alert(service: AlertService, tmp_path: Path) -> None:
    for template in FAILING:
        ours = rendered(service, template)
        assert ours.problem is not None, template
        assert ours.problem["message"].startswith("Could not render 'text': "), template
        assert all(
            texts["text"].startswith("<error expanding template: ") for _, texts, _ in ours.alerts.values()
        )
    said = promtool(tmp_path, FAILING, [[] for _ in FAILING])
    assert said.count("<error expanding template: ") == 8 * len(FAILING), said


def test_the_address_of_the_server_can_be_part_of_a_text() -> None:
    """This promtool has it as a variable only."""
    text = Template("{{ externalURL }} {{ pathPrefix }}").fill({}, 1, Rendering(external_url=URL))
    assert text == f"{URL} /prefix/here"


def test_a_template_stays_within_its_bounds() -> None:
    alert = {"a": "x" * 5000}
    assert len(Template("{{ $labels.a }}" * 100).fill(alert, 1)) == MAX_RENDERED
    large = Rendering(lambda _: [Sample({}, 1.0)] * 1000)
    nested = "{{ range query `a` }}{{ range query `a` }}{{ $x := . }}{{ end }}{{ end }}"
    doubled = "{{ $x := `a` }}{{ range query `a` }}{{ $x = print $x $x }}{{ end }}"
    for text in (nested, doubled, "{{ printf `%99999d` 1 }}", "{{ reReplaceAll `.` $labels.a $labels.a }}"):
        with pytest.raises(TemplateError):
            Template(text).fill(alert, 1, large)
    for text in ("{{ if true }}" * 1000 + "{{ end }}" * 100, "{{ " + "(" * 900 + "1" + ")" * 900 + " }}"):
        with pytest.raises(BadQuery):
            Template(text)


def test_queries_of_the_templates_of_one_evaluation_are_counted_and_shared() -> None:
    asked: list[str] = []

    def query(expr: str) -> list[Sample]:
        asked.append(expr)
        return [Sample({}, 1.0)]

    now = Rendering(query)
    template = Template('{{ query (printf "up{n=\\"%s\\"}" $labels.n) | first | value }}')
    for number in range(MAX_QUERIES):
        assert template.fill({"n": str(number)}, 1, now) == template.fill({"n": str(number)}, 1, now) == "1"
    assert len(asked) == MAX_QUERIES
    with pytest.raises(TemplateError, match="too many"):
        template.fill({"n": "one more"}, 1, now)
