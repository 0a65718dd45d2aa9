"""What the page of a job says of it to those who run no script: title and Open Graph, for those alone who may see the job."""

import html
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest
from smserver import Server, quote, wait_until
from test_auth import make_token

PUBLIC = "https://train.example.org"
HOSTILE = 'a/b"><script>alert(1)</script> &amp; </title>\u202eevil\U0001f680'


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Of all tests that need no token; each has jobs of its own."""
    one = Server(tmp_path_factory.mktemp("page"), "--public-url", PUBLIC + "/").start()
    yield one
    one.close()


class Head(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.properties, self.title, self.tags, self.is_title = {}, "", [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.is_title = tag == "title"
        named = dict(attributes)
        if "property" in named:
            assert set(named) == {"property", "content"}, named
            assert named["property"] not in self.properties
            self.properties[named["property"]] = named["content"]

    def handle_endtag(self, tag):
        self.is_title = False

    def handle_data(self, data):
        self.title += data if self.is_title else ""


def page(server, job, **options):
    reply = server.get(f"/jobs/{quote(job)}", **options)
    assert reply.status == 200 and reply.headers["Content-Type"] == "text/html; charset=utf-8", reply
    return reply


def head(server, job, **options):
    return Head(page(server, job, **options).raw.decode())


def send_losses(server, job, losses):
    series = {"metric": "loss", "stream": "algo-1", "step": list(range(len(losses))), "value": losses}
    assert server.post(f"/api/v1/points?job={quote(job)}", json={"series": [series]}).status == 200
    wait_until(lambda: "loss" in head(server, job).properties["og:description"], what="the summary of the losses")


def test_status_loss_and_picture(shared):
    send_losses(shared, "llama-7b", [3.5, 2.25])
    seen = head(shared, "llama-7b")
    assert seen.title == "llama-7b · smfleet"
    assert seen.properties == {"og:type": "website", "og:site_name": "smfleet", "og:title": "llama-7b",
        "og:description": "InProgress (Training) · loss 2.25 at step 1", "og:url": PUBLIC + "/jobs/llama-7b",
        "og:image": PUBLIC + "/api/v1/jobs/llama-7b/chart.svg?metric=loss&theme=light&width=1200&height=630", "og:image:type": "image/svg+xml"}
    picture = shared.get(seen.properties["og:image"].removeprefix(PUBLIC))
    assert picture.status == 200 and picture.headers["Content-Type"] == "image/svg+xml"
    assert ElementTree.fromstring(picture.raw).get("width") == "1200"


def test_why_it_failed_and_the_newest_incident(shared):
    send_losses(shared, "failed", [3.5, 2.5])
    reason = "rank 3 said <b>\"out of memory\"</b>\nand " + "ü" * 400
    assert shared.post("/api/v1/jobs/failed/transitions", json={"SecondaryStatus": "Failed", "FailureReason": reason}).status in (200, 204)
    wait_until(lambda: "(open)" in head(shared, "failed").properties["og:description"], what="the incident of the failure")
    text = head(shared, "failed").properties["og:description"]
    incident = shared.get('/api/v1/incidents?q=name="failed"').body["incidents"][0]
    assert text.startswith('Failed: rank 3 said <b>"out of memory"</b> and üü'), text
    assert text.endswith(f" · {incident['severity']} {incident['kind'].replace('_', ' ')} (open)"), text
    assert "ü · loss 2.5 at step 1" in text and len(text) < 400, "the reason is cut at a character"


def test_hostile_names_are_text(shared):
    send_losses(shared, HOSTILE, [1.0, 2.0])
    raw = page(shared, HOSTILE).raw.decode()
    seen = Head(raw)
    shown = HOSTILE.replace("\u202e", "\ufffd")
    assert seen.title == shown + " · smfleet" and seen.properties["og:title"] == shown
    assert "alert(1)" in raw and "<script>alert" not in raw and raw.count("</title>") == 1
    assert seen.properties["og:url"] == f"{PUBLIC}/jobs/{quote(HOSTILE)}"
    assert shared.get(seen.properties["og:image"].removeprefix(PUBLIC)).status == 200
    plain = Head(shared.get("/jobs", headers={"Accept": "text/html"}).raw.decode())
    assert [tag for tag in seen.tags if tag != "meta" and tag != "link"] == [tag for tag in plain.tags if tag != "meta" and tag != "link"]


def test_no_job_and_no_loss(shared):
    none = page(shared, "there-is-none").raw
    assert b"og:" not in none and b"<title>smfleet</title>" in none
    shared.send("no-loss", "x")
    assert "og:image" not in head(shared, "no-loss").properties


def test_whoever_asks_gets_it_and_asks_again(shared):
    """Those who show links send Accept: */*, and no text/html."""
    shared.send("again", "x")
    tag = page(shared, "again", headers={"Accept": "*/*"}).headers["ETag"]
    again = shared.get("/jobs/again", headers={"If-None-Match": tag})
    assert again.status == 304 and again.raw == b""
    assert page(shared, "again").headers["Cache-Control"] == "private, no-cache"
    assert shared.post("/api/v1/jobs/again/transitions", json={"SecondaryStatus": "Completed"}).status in (200, 204)
    assert page(shared, "again", headers={"If-None-Match": tag}).headers["ETag"] != tag, "it is another text now"


def test_a_token_is_needed(make_server):
    server = make_server("--public-url", PUBLIC)
    server.send("secret-job", "step 1 loss: 2.5")
    server.send("other", "x")
    wait_until(lambda: "og:image" in head(server, "secret-job").properties, what="the loss")
    admin = make_token(server, "root", "admin")
    read, write = (make_token(server, scope, scope) for scope in ("read", "write"))
    for options in ({}, {"token": "smf_wrong"}, {"token": write}, {"headers": {"Cookie": "smfleet_session=sms_none"}}):
        hidden = page(server, "secret-job", **options)
        assert b"og:" not in hidden.raw and b"secret-job" not in hidden.raw, options
        assert hidden.raw == page(server, "there-is-none", **options).raw, "not even whether it is there"
    for token in (read, admin):
        seen = head(server, "secret-job", token=token)
        assert seen.title == "secret-job · smfleet" and "og:image" not in seen.properties, "nobody else may fetch it"
    signed = server.post("/api/v1/session", json={"token": read})
    cookie = signed.headers["Set-Cookie"].partition(";")[0]
    assert head(server, "secret-job", headers={"Cookie": cookie}).title == "secret-job · smfleet"
    assert html.unescape(head(server, "other", token=read).properties["og:title"]) == "other"
