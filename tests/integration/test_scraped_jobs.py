"""/metrics?jobs=: the newest values of chosen jobs, as Prometheus reads them (promtool, and a scrape of Debian's)."""

import subprocess
import urllib.parse

import pytest

import prometheus
from test_auth import make_token


def scraped(server, jobs, **options):
    reply = server.get("/metrics?" + urllib.parse.urlencode({"jobs": jobs}), **options)
    assert reply.status == 200, reply
    return {line.rsplit(" ", 1)[0]: line.rsplit(" ", 1)[1] for line in reply.body.splitlines() if line.startswith("smfleet_job_")}


def metric(job, stream, name):
    return f'smfleet_job_metric{{training="{job}",stream="{stream}",metric="{name}"}}'


def test_values_of_chosen_jobs(server):
    server.post("/api/v1/points?job=bert", "step,loss,grad\n1,2.5,nan\n2,2.25,inf\n", content_type="text/csv")
    server.post("/api/v1/points?job=gpt&stream=r1", 'step,"a{x=""1""}"\n1,7\n', content_type="text/csv")
    server.post("/api/v1/points?job=other", "step,loss\n1,1\n", content_type="text/csv")
    server.wait_for_extraction()
    assert "smfleet_job_" not in server.get("/metrics").body
    stream = server.get("/api/v1/jobs/bert/streams").body["streams"][0]["stream"]
    found = scraped(server, "bert,gpt,nobody")
    assert found[metric("bert", stream, "loss")] == "2.25" and found[metric("bert", stream, "grad")] == "+Inf"
    assert [value for name, value in found.items() if 'training="gpt"' in name and 'stream="r1"' in name] == ["7"]
    assert found['smfleet_job_state{training="bert",state="InProgress"}'] == "1" == found['smfleet_job_state{training="nobody",state="Unknown"}']
    assert found["smfleet_job_metrics_left_out"] == "0" and not [name for name in found if '"other"' in name]
    server.post("/api/v1/points?job=bert", "step,grad\n3,nan\n", content_type="text/csv")
    server.wait_for_extraction()
    assert server.post("/api/v1/jobs/bert/transitions", json={"SecondaryStatus": "Completed"}).status < 300
    found = scraped(server, "bert")
    assert found[metric("bert", stream, "grad")] == "NaN" and 'smfleet_job_state{training="bert",state="Completed"}' in found


def test_promtool_finds_nothing(server):
    """With names that must be escaped, and a comma in one; and the figures of the server with them."""
    names = ['odd "quoted" \\ name', "a,b", "läuft"]
    for name in names:
        assert server.post("/api/v1/points?" + urllib.parse.urlencode({"job": name}), 'step,loss\n1,2\n', content_type="text/csv").status == 200, name
    server.wait_for_extraction()
    query = urllib.parse.urlencode({"jobs": ",".join(name.replace(",", "%2C") for name in names)})
    text = server.get("/metrics?" + query).raw
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True)
    assert checked.returncode == 0 and not checked.stderr, checked.stderr.decode()
    assert b'training="odd \\"quoted\\" \\\\ name"' in text and text.count(b"smfleet_job_metric{") == 3


REFUSED = [("", "empty"), (",", "empty"), ("a,a", "twice"), (",".join(f"j{i}" for i in range(4)), "--max-compare-jobs"), ("a%00", "UTF-8")]


def test_limits(make_server):
    """Series beyond the limit are counted, and what is wrong with the names is said."""
    server = make_server("--max-scraped-series", "3", "--max-compare-jobs", "3")
    for job, count in (("a", 3), ("b", 1)):
        body = "step," + ",".join(f"m{i}" for i in range(count)) + "\n1" + ",5" * count + "\n"
        assert server.post(f"/api/v1/points?job={job}", body, content_type="text/csv").status == 200
    server.wait_for_extraction()
    for jobs, given, left in (("a", 3, 0), ("a,b", 3, 1), ("b,a,c", 3, 1)):
        found = scraped(server, jobs)
        assert sum("_metric{" in name for name in found) == given and found["smfleet_job_metrics_left_out"] == str(left), found
    for jobs, word in REFUSED:
        reply = server.get("/metrics?" + urllib.parse.urlencode({"jobs": jobs}))
        assert 400 <= reply.status < 500 and word in reply.raw.decode(), (jobs, reply)
    make_token(server, "admin", "admin")
    assert server.get("/metrics?jobs=a").status == 401
