"""Charts as pictures: the same buckets as /points, whatever the names and values are, and signed addresses that need no token."""

import re
import subprocess
import xml.etree.ElementTree as ElementTree
from urllib.parse import quote

import pytest
from smserver import ROOT, Server, sanitizer_environment

@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Of all tests that need no token; each has jobs of its own."""
    one = Server(tmp_path_factory.mktemp("svg")).start()
    send_points(one, "plain", "loss", [1.0, 2.0])
    yield one
    one.close()


SVG = "{http://www.w3.org/2000/svg}"
ODD = 'a/b <script>alert("x")</script> & \u202e\U0001f680'


def send_points(server, job, metric, values, steps=None, times=None):
    series = {"metric": metric, "stream": "algo-1", "step": steps or list(range(len(values))), "value": values}
    if times:
        series["ts_ms"] = times
    before = (server.series(job, metric, "algo-1") or {"count": 0})["count"]
    reply = server.post(f"/api/v1/points?job={quote(job, safe='')}", json={"series": [series]})
    assert reply.status == 200, reply
    server.wait_for_points(job, metric, before + len(values))


def picture(server, job, query, **options):
    reply = server.get(f"/api/v1/jobs/{quote(job, safe='')}/chart.svg?{query}", **options)
    assert reply.status == 200 and reply.headers["Content-Type"] == "image/svg+xml", reply
    return ElementTree.fromstring(reply.raw)


def vertices(path):
    return [(float(x), float(y)) for x, y in re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", path.get("d"))]


def band(root):
    return [path for path in root.iter(f"{SVG}path") if path.get("class", "").startswith("b ")][0]


def texts(root):
    return [text.text for text in root.iter(f"{SVG}text")]


def test_a_spike_is_in_the_picture_at_any_width(shared):
    values = [2 + (step * 7919 % 100) / 100 for step in range(20_000)]
    values[13_337] = 90.0
    send_points(shared, "j", "loss", values)
    for width in (120, 333, 800, 4000):
        root = picture(shared, "j", f"metric=loss&width={width}&height=300")
        buckets = shared.points("j", "loss", buckets=width * 2 // 3)["columns"]
        points = vertices(band(root))
        assert len(points) == 2 * len(buckets["x"]), "one vertex an extreme"
        top = min(points, key=lambda point: point[1])
        others = [y for x, y in points[:len(buckets["x"])] if (x, y) != top]
        assert top == points[buckets["max"].index(90.0)] and min(others) - top[1] > 150, (width, top)
        assert f"{len(buckets['x']):,} of 20,000 points, nothing hidden" in " ".join(texts(root)) or width < 400
    root = picture(shared, "j", "metric=loss&from=13000&to=13999&width=4000")
    assert len([1 for path in root.iter(f"{SVG}path") if path.get("class").startswith("b ") and path.get("d")]) == 0, "a point a bucket: no band"


def test_odd_names_and_values(shared):
    odd = [1.0, "NaN", 3.0, "Infinity", "-Infinity", 1e308, -1e308, 5e-324, 0.0]
    send_points(shared, ODD, "loss", odd)
    root = picture(shared, ODD, "metric=loss")
    title = root.find(f"{SVG}title").text
    assert title.startswith('loss of a/b <script>alert("x")</script> & ') and "\u202e" not in title and title.endswith("\U0001f680")
    assert root.find(f".//{SVG}script") is None
    crosses = [path.get("d") for path in root.iter(f"{SVG}path") if path.get("class") == "l s2"]
    assert sum(d.count("M") for d in crosses) == 3
    for name, values in (("one", [2.5]), ("nan", ["NaN"] * 5), ("flat", [7.0] * 50), ("tiny", [1e-320] * 3), ("small", [1e-320, 2e-320]), ("minus", [-1.0, -2.0, 3.0])):
        send_points(shared, name, "loss", values)
        for scale in ("linear", "log"):
            for x in ("step", "time", "relative"):
                root = picture(shared, name, f"metric=loss&scale={scale}&x={x}&smooth=0.9&theme=dark&width=120&height=40")
                numbers = " ".join(path.get("d") for path in root.iter(f"{SVG}path"))
                assert "nan" not in numbers and "inf" not in numbers
    assert "2 not above 0 have no place on a log axis" in " ".join(texts(picture(shared, "minus", "metric=loss&scale=log")))
    send_points(shared, "same", "loss", [float(n) for n in range(5000)], steps=[3] * 5000)
    assert min(y for _, y in vertices(band(picture(shared, "same", "metric=loss")))) > 0


def test_several_curves_and_marks(shared):
    lines = [f"step: {step} loss: {2 + step % 7 / 100:.2f}" for step in range(300)] + ["step: 300 loss: nan", "step: 301 loss: nan", "step: 302 loss: nan"]
    shared.send("a", lines + [f"step: {step} loss: 2.0" for step in range(280, 421)])
    send_points(shared, "b", "train:loss", [3.0] * 100)
    shared.wait_for_points("a", "train:loss", 421)
    send_points(shared, "a", "grad_norm", [1.0] * 9)
    root = picture(shared, "a", "metric=train:loss&jobs=b,nobody")
    assert {"a", "b"} <= set(texts(root)) and "nobody" not in texts(root), "the legend names the jobs that are there"
    assert root.find(f"{SVG}title").text == "train:loss of 3 jobs"
    root = picture(shared, "a", "metric=train:loss,grad_norm&title=my+title")
    assert root.find(f"{SVG}title").text == "my title" and "train:loss" in texts(root)
    marks = [title.text for title in picture(shared, "a", "metric=loss").iter(f"{SVG}title")]
    assert any("non_finite" in mark for mark in marks) and "restart" in marks, marks
    tokens = (ROOT / "web/src/styles/tokens.css").read_text()
    light = re.findall(r"--series-\d: light-dark\((#\w+), (#\w+)\)", tokens)
    style = picture(shared, "a", "metric=loss").find(f"{SVG}style").text
    assert len(light) == 8 and all(one in style and other in style for one, other in light), "the page's colours"


def test_notes_are_in_the_picture(shared):
    """By hand: steps 0 to 100 on 800 pixels are drawn from 64 to 786, 7.22 a step; times from T0 on, a minute a step, likewise."""
    minute, start = 60_000, 1_760_000_000_000
    for job in ("noted", "other"):
        send_points(shared, job, "loss", [1.0] * 101, times=[start + n * minute for n in range(101)])

    def note(job, text, **place):
        reply = shared.post(f"/api/v1/jobs/{job}/notes", json={"text": text, **place})
        assert reply.status == 201, reply
        return reply.body["id"]

    def marks(query):
        """Of each note its text and where its line is."""
        found = {}
        for group in picture(shared, "noted", query).iter(f"{SVG}g"):
            title = group.find(f"{SVG}title")
            if title is not None and "note" in title.text:
                found[title.text] = float(re.match(r"M([\d.]+) ", group.find(f"{SVG}path").get("d"))[1])
        return found
    note("noted", "half the <rate>", step=50)
    note("noted", "the disk", ts_ms=start + 75 * minute)
    note("other", "a second machine", step=25)
    gone = note("noted", "a mistake", step=10)
    assert shared.delete(f"/api/v1/jobs/noted/notes/{gone}").status == 200
    half, disk = "note: half the <rate>", "note: the disk"
    assert marks("metric=loss") == {half: 425.0, disk: 605.5}, "64 + 50 * 7.22, 64 + 75 * 7.22"
    assert marks("metric=loss&x=time") == marks("metric=loss&x=relative") == {half: 425.0, disk: 605.5}
    assert marks("metric=loss&from=60&to=100") == {disk: 334.8}, "64 + 15/40 of 722; the other one is before the window"
    both = marks("metric=loss&jobs=other")
    assert both == {"noted, " + half: 425.0, "noted, " + disk: 605.5, "other, note: a second machine": 244.5}


def test_two_jobs_by_tokens(shared):
    """200 tokens a step, and 400: after as many tokens both are at the same place. The count is printed at each tenth step."""
    for job, each in (("by-200", 200), ("by-400", 400)):
        send_points(shared, job, "loss", [5.0 - step / 100 for step in range(101)])
        send_points(shared, job, "consumed_tokens", [step * each for step in range(0, 101, 10)], steps=list(range(0, 101, 10)))

    def ends(query):
        root = picture(shared, "by-200", query)
        lines = [[x for x, _ in vertices(path)] for path in root.iter(f"{SVG}path") if path.get("class", "").startswith("l c")]
        return [(line[0], line[-1]) for line in lines if len(line) > 1], texts(root)  # those of the legend have one
    both, said = ends("metric=loss&jobs=by-400,plain&x=tokens")
    (first, last), (other_first, other_last) = both
    assert other_first == first and abs((last - first) / (other_last - first) - 20_000 / 40_000) < 0.01, both
    assert any("by tokens" in text for text in said)
    (alone,), said = ends("metric=loss&x=tokens&from=5000&to=15000")
    assert any(text.startswith("by tokens, 51 points") for text in said), said  # steps 25 to 75


@pytest.mark.parametrize("query,status,field", [
    ("", 400, "metric"), ("metric=none", 404, None), ("metric=loss&width=119", 400, "width"), ("metric=loss&width=4001", 400, "width"),
    ("metric=loss&height=39", 400, "height"), ("metric=loss&height=2001", 400, "height"), ("metric=loss&theme=blue", 400, "theme"),
    ("metric=loss&scale=ln", 400, "scale"), ("metric=loss&smooth=1", 400, "smooth"), ("metric=loss&smooth=nan", 400, "smooth"),
    ("metric=loss&from=9&to=3", 422, "from"), ("metric=loss&x=token", 400, "x"), ("metric=loss&x=tokens", 404, "x"), ("metric=loss&what=1", 400, "what"),
    ("metric=" + ",".join("m%d" % n for n in range(21)), 413, "metric"), ("metric=a,b&jobs=" + ",".join("j%d" % n for n in range(10)), 413, "jobs"),
])
def test_what_is_wrong_is_said(shared, query, status, field):
    reply = shared.get(f"/api/v1/jobs/plain/chart.svg?{query}")
    assert reply.status == status and (field is None or reply.body["field"] == field), reply


def test_it_is_kept_until_it_changes(shared):
    send_points(shared, "kept", "loss", [1.0, 2.0])
    path = "/api/v1/jobs/kept/chart.svg?metric=loss"
    first = shared.get(path)
    assert shared.get(path, headers={"If-None-Match": first.headers["ETag"]}).status == 304
    assert "sandbox" in first.headers["Content-Security-Policy"] and first.headers["Cache-Control"] == "no-cache"
    send_points(shared, "kept", "loss", [5.0], steps=[7])
    assert shared.get(path, headers={"If-None-Match": first.headers["ETag"]}).status == 200


def make_token(server, name, scope):
    done = subprocess.run([server.bin("sm-server"), "token", "create", name, "--scope", scope, *server.database_options()],
        capture_output=True, text=True, timeout=60, env=sanitizer_environment())
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_signed_addresses(server):
    send_points(server, "a/b", "loss", [1.0, 2.0])
    send_points(server, "a/b", "other", [1.0, 2.0])
    chart, foreign = "/api/v1/jobs/a%2Fb/chart.svg?metric=loss", {"Sec-Fetch-Site": "cross-site"}
    unlocked = server.post("/api/v1/signatures", json={"url": chart}).body["url"]
    assert server.get(chart, headers=foreign).status == 403 and server.get(unlocked, headers=foreign).status == 200
    admin, read, write = (make_token(server, scope, scope) for scope in ("admin", "read", "write"))
    assert server.get(unlocked).status == 403, "it was signed when nobody needed a token"
    assert server.get(chart).status == 401
    assert server.post("/api/v1/signatures", json={"url": chart}, token=write).status == 403
    made = server.post("/api/v1/signatures", json={"url": "https://fleet.example.org" + chart, "expires_in_s": 3600}, token=read)
    assert made.status == 201 and made.body["url"].startswith("https://fleet.example.org/api/")
    signed = f"{chart}&sig={made.body['sig']}"
    assert server.get(signed, headers=foreign).status == 200
    assert server.get(signed.replace("a%2Fb", "a%2fb").replace("metric", "%6Detric")).status == 200, "as a proxy may write it"
    expiry, owner, mac = made.body["sig"].split(".")
    for wrong in (signed + "&width=900", signed.replace("loss", "other"), signed.replace("chart.svg", "points"), f"{chart}&sig={int(expiry) + 1}.{owner}.{mac}",
                  f"{chart}&sig={expiry}.0.{mac}", f"{chart}&sig={expiry}.{owner}.{mac[:-1]}", f"{chart}&sig={expiry}.{owner}.{'0' * 32}", f"{chart}&sig=", f"{chart}&sig=1.2"):
        reply = server.get(wrong)
        assert reply.status == 403 and reply.body["field"] == "sig", (wrong, reply)
    assert server.get(f"/api/v1/jobs?sig={made.body['sig']}").status in (400, 401)
    embed = server.post("/api/v1/signatures", json={"url": "/jobs/a%2Fb?embed=1&metric=loss"}, token=read).body["sig"]
    points = "/api/v1/jobs/a%2Fb/points?metric=loss&buckets=100"
    assert server.get(f"{points}&sig={embed}").status == 200
    for wrong in (f"{points}&raw=true", f"{points}&chain=true", points.replace("loss", "other"), chart):
        assert server.get(f"{wrong}&sig={embed}").status == 403, wrong
    assert server.delete("/api/v1/tokens/read", token=admin).status == 204
    assert server.get(signed).status == 403, "its token is gone"


def test_limits_of_signing_and_framing(make_server):
    server = make_server("--max-signature", "2h", "--embed-origin", "https://wiki.example.org,http://a:8080")
    good = {"url": "/api/v1/jobs/j/chart.svg?metric=loss"}
    assert server.post("/api/v1/signatures", json={**good, "expires_in_s": 7200}).status == 201
    assert server.post("/api/v1/signatures", json={**good, "expires_in_s": 7201}).body["field"] == "expires_in_s"
    assert server.post("/api/v1/signatures", json={**good, "expires_in_s": 0}).body["field"] == "expires_in_s"
    for url in ("", "/", "/api/v1/jobs", "/jobs/j", "/jobs/j?metric=loss", "/jobs/j?embed=1", "/api/v1/jobs/j/chart.svg", good["url"] + "&sig=1.2.3", "/api/v1/jobs/%zz/chart.svg?metric=loss", "https://x"):
        reply = server.post("/api/v1/signatures", json={"url": url})
        assert reply.status == 422 and reply.body["field"] == "url", (url, reply)
    page, browser = "/jobs/j?embed=1&metric=loss", {"Accept": "text/html"}
    policy = server.get(page, headers=browser).headers["Content-Security-Policy"]
    assert policy.endswith("frame-ancestors https://wiki.example.org http://a:8080") and "script-src 'self'" in policy
    for other in ("/jobs/j", "/?embed=1", "/jobs/j?embed=0"):
        assert "frame-ancestors 'none'" in server.get(other, headers=browser).headers["Content-Security-Policy"], other
    for wrong in ("https://a; script-src *",):
        done = subprocess.run([server.bin("sm-server"), "--db", str(server.folder / "other.db"), "--listen", "127.0.0.1:0", "--embed-origin", wrong],
            capture_output=True, text=True, timeout=60, env=sanitizer_environment())
        assert done.returncode not in (0, 99) and "--embed-origin" in done.stderr, done


def test_nobody_frames_the_page_by_default(shared):
    policy = shared.get("/jobs/j?embed=1&metric=loss", headers={"Accept": "text/html"}).headers["Content-Security-Policy"]
    assert policy.endswith("frame-ancestors 'none'")
