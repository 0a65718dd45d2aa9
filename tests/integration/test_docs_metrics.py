"""What docs/metrics.md says is read without any set-up: each of its examples is the log of a job, which gets those points and no others."""

import pathlib
import re

import pytest

from smserver import ROOT, Server, quote

TITLE = "What is read without any set-up"
SECTION = re.search(rf"^## {TITLE}\n(.*?)^## ", pathlib.Path(ROOT, "docs/metrics.md").read_text(), re.M | re.S).group(1)


def examples():
    """(lines, points) for each group of lines between blank ones; behind an arrow are the points, `name=value@step`."""
    for block in re.findall(r"^```read\n(.*?)^```", SECTION, re.M | re.S):
        for group in block.strip("\n").split("\n\n"):
            rows = group.split("\n")
            lines = [row for row in rows if not row.startswith("→")]
            said = " ".join(row.removeprefix("→") for row in rows[len(lines):])
            assert all(row.startswith("→") for row in rows[len(lines):]) and lines and said, group
            yield lines, [] if said.split() == ["nothing"] else said.split()


EXAMPLES = list(examples())


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One for all examples: each is a job of its own."""
    one = Server(tmp_path_factory.mktemp("examples"), "--insecure")
    one.start()
    yield one
    one.close()


FORMS_MIN = 40  # that the search above finds them


def points_of(server, job):
    """As the document writes them, in the order of names and then of lines."""
    for row in server.get(f"/api/v1/jobs/{quote(job)}/metrics").body["series"]:
        if row["metric"].startswith("derived:"):
            continue
        for part in server.points(job, row["metric"], raw="true")["series"]:
            for step, value in zip(part["step"], part["value"]):
                yield f"{row['metric']}={value:.10g}@{step}" if isinstance(value, float | int) else f"{row['metric']}={value.lower()}@{step}"


def test_there_are_examples_of_each_form():
    assert len(EXAMPLES) >= FORMS_MIN
    assert any(not points for _, points in EXAMPLES)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_gives_what_it_says(server, number):
    lines, points = EXAMPLES[number]
    server.send(f"example-{number}", lines)
    server.wait_for_extraction()
    assert sorted(points_of(server, f"example-{number}")) == sorted(points), "\n".join(lines)
