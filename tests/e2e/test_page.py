"""From a posted line to a drawn point, in a real browser. Screenshots go to build/screenshots."""

import json
import math
import random
import time

import pytest
from smserver import ROOT, Server, wait_until

SHOTS = ROOT / "build/screenshots"

# How much of the lead chart's canvas is in colour: the curve's and its band's pixels, not axes (grey) or background.
COLOURED = """
    const canvas = document.querySelector('.chart canvas');
    if (!canvas || !canvas.width) return 0;
    const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
    let count = 0;
    for (let i = 0; i < data.length; i += 4)
        if (data[i + 3] > 60 && Math.max(data[i], data[i + 1], data[i + 2]) - Math.min(data[i], data[i + 1], data[i + 2]) > 40) count++;
    return count;
"""
FETCHES = "return performance.getEntriesByType('resource').filter(e => e.name.includes('/points?')).length"


def losses(first, count, shift=0.0):
    return [f"step: {n} loss: {2 + 3 * math.exp(-n / 80) + shift + (n * 7919 % 100) / 2000:.4f} lr: 3e-4" for n in range(first, first + count)]


def check_console(browser):
    errors = [text for level, text in browser.console() if level in ("SEVERE", "ERROR")]
    assert errors == []


def open_job(browser, server, job):
    browser.open(f"{server.url}/jobs/{job}")
    browser.wait_for("return document.querySelector('.chart canvas') !== null", what="the chart")
    browser.wait_for(COLOURED, what="a drawn curve")


def test_posted_line_becomes_a_drawn_point(server, browser):
    server.send("llama", losses(0, 100))
    open_job(browser, server, "llama")
    browser.wait_for("return document.querySelector('.kept').innerText.startsWith('100 ')", what="100 points")
    before = browser.run(COLOURED)
    fetches = browser.run(FETCHES)
    began = time.monotonic()
    server.send("llama", "step: 100 loss: 9.5")
    browser.wait_for("return document.querySelector('.kept').innerText.startsWith('101 ')", what="the new point")
    took = time.monotonic() - began
    browser.wait_for(f"const drawn = (() => {{ {COLOURED} }})(); return drawn !== {before} && drawn > 0",
        what="a chart that changed")
    assert browser.run(FETCHES) == fetches, "the point was fetched, not pushed"
    assert took < 5, f"from line to pixel: {took:.2f} s"
    browser.screenshot(SHOTS / "job.png")
    check_console(browser)


def test_new_job_appears_in_the_list(server, browser):
    server.send("first", losses(0, 10))
    browser.open(server.url + "/")
    browser.wait_for("return [...document.querySelectorAll('[data-name]')].some(e => e.dataset.name === 'first')", what="the first job")
    server.send("second", losses(0, 10))
    browser.wait_for("return [...document.querySelectorAll('[data-name]')].some(e => e.dataset.name === 'second')", what="the second job")
    browser.screenshot(SHOTS / "jobs.png")
    check_console(browser)


def test_new_line_appears_in_the_log(server, browser):
    server.send("llama", losses(0, 20))
    open_job(browser, server, "llama")
    browser.wait_for("return document.querySelector('[role=log]')?.innerText.includes('step: 19 ')", what="the log's end")
    server.send("llama", "something new under the sun")
    browser.wait_for("return document.querySelector('[role=log]').innerText.includes('new under the sun')", what="the new line")
    check_console(browser)


def test_log_text_is_only_text(server, browser):
    server.send("<b>x</b>", ["<img src=x onerror=\"document.title='owned'\">", "<script>document.title='owned'</script>",
        "\x1b[31mred\x1b[0m step: 1 loss: 2.5", *losses(2, 10)])
    browser.open(server.url + "/jobs/%3Cb%3Ex%3C%2Fb%3E")
    browser.wait_for("return document.querySelector('[role=log]')?.innerText.includes('onerror')", what="the line as text")
    assert browser.run("return document.querySelectorAll('[role=log] img, [role=log] script, [role=log] b').length") == 0
    assert "owned" not in browser.run("return document.title")
    check_console(browser)


def test_incident_is_marked(server, browser):
    steady = [f"step: {n} loss: {3 + (n * 7919 % 100) / 1000:.3f}" for n in range(300)]
    server.send("llama", steady + [f"step: {n} loss: 9.0" for n in range(300, 306)])
    open_job(browser, server, "llama")
    browser.wait_for("return document.querySelector('.jobincidents, .marks button, .marks [aria-label]') !== null", what="the spike's mark")
    browser.open(server.url + "/incidents")
    browser.wait_for("return document.querySelector('table.incidents')?.innerText.includes('llama')", what="the incident's row")
    browser.screenshot(SHOTS / "incidents.png")
    check_console(browser)


def test_empty_page_teaches(server, browser):
    browser.open(server.url + "/")
    browser.wait_for("return document.querySelector('.empty')?.innerText.includes('curl')", what="the three ways")
    text = browser.text(".empty")
    assert server.url.removeprefix("http://") in text and "sm-ship" in text
    browser.screenshot(SHOTS / "empty.png")
    check_console(browser)


def test_sign_in(server, browser):
    reply = server.post("/api/v1/tokens", json={"name": "admin", "scope": "admin"})
    assert reply.status == 201
    server.token = reply.body["token"]
    server.send("secret-job", losses(0, 10))
    browser.open(server.url + "/")
    browser.wait_for("return document.querySelector('dialog.signin')?.open", what="the sign-in dialog")
    assert "secret-job" not in browser.text("body")
    browser.type("dialog.signin input", server.token)
    browser.click("dialog.signin button[type=submit]")
    browser.wait_for("return [...document.querySelectorAll('[data-name]')].some(e => e.dataset.name === 'secret-job')", what="the jobs")
    errors = [text for level, text in browser.console() if level == "SEVERE" and "401" not in text]
    assert errors == []


def test_page_comes_back_after_a_restart(server, browser):
    server.send("llama", losses(0, 50))
    open_job(browser, server, "llama")
    server.restart()
    server.send("llama", losses(50, 1))
    browser.wait_for("return document.querySelector('.kept').innerText.startsWith('51 ')", what="the point after the restart",
        timeout=60)


@pytest.mark.parametrize("width, height, name", [(1440, 900, "wide"), (390, 844, "phone")])
def test_nothing_is_wider_than_the_window(server, browser, width, height, name):
    browser.resize(width, height)
    server.send("a-rather-long-job-name-that-somebody-chose-2026-11-21", losses(0, 200))
    open_job(browser, server, "a-rather-long-job-name-that-somebody-chose-2026-11-21")
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    browser.screenshot(SHOTS / f"job-{name}.png")
    check_console(browser)


def test_no_request_leaves_the_server(server, browser):
    server.send("llama", losses(0, 100))
    open_job(browser, server, "llama")
    names = browser.run("return performance.getEntriesByType('resource').map(e => e.name)")
    assert names and all(name.startswith((server.url, "blob:", "data:")) for name in names), json.dumps(names, indent=1)


# ---- the log ----
HITS = "return [...document.querySelectorAll('.hit')].map(e => e.innerText.replace(/\\s+/g, ' '))"
COUNT = "return document.querySelector('.find .count')?.innerText"
CHOSEN = "return document.querySelector('.line.chosen')?.innerText"


def send_nodes(server, job="llama", nodes=3, count=400):
    """Lines of several nodes, two seconds apart; each node has an NCCL warning in colour at its line 90 + 100 k."""
    for node in range(nodes):
        rows = []
        for i in range(count):
            text = f"step: {i} loss: {2 + 3 * math.exp(-i / 80):.4f}"
            if i % 100 == 90:
                text = f"\x1b[33mWARNING\x1b[0m \u00e9\u20ac NCCL timeout {i} on node {node}"
            rows.append(json.dumps({"line": text, "ts": 1_760_000_000_000 + i * 2000 + node * 10}))
        reply = server.post(f"/api/v1/logs?job={job}&stream=algo-{node}", "\n".join(rows) + "\n", content_type="application/x-ndjson")
        assert reply.status == 200, reply


def press(browser, key):
    browser.run(f"document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{key: {json.dumps(key)}, bubbles: true, cancelable: true}}))")


def test_log_search_goes_from_hit_to_hit(server, browser):
    send_nodes(server)
    open_job(browser, server, "llama")
    browser.wait_for("return document.querySelector('.find input') !== null", what="the search field")
    press(browser, "/")
    assert browser.run("return document.activeElement === document.querySelector('.find input')")
    browser.type(".find input", "nccl")
    browser.wait_for("return document.querySelectorAll('.hit').length === 12", what="twelve hits of three nodes")
    browser.wait_for("return document.querySelector('.find .count').innerText === '12 hits'", what="their number")
    assert browser.run("return [...document.querySelectorAll('.hit mark')].every(e => e.innerText === 'NCCL')")
    assert "algo-2" in browser.run(HITS)[0] and "timeout 390 on node 2" in browser.run(HITS)[0]
    browser.wait_for("return document.querySelectorAll('.histogram .bar').length > 1", what="the histogram")
    press(browser, "Enter")
    browser.wait_for("return document.querySelector('.line.chosen mark')?.innerText === 'NCCL'", what="the first hit's line")
    browser.run("document.activeElement.blur()")
    press(browser, "n")
    browser.wait_for("return document.querySelector('.find .count').innerText === '2 of 12'", what="the second hit")
    browser.wait_for("return document.querySelector('.line.chosen')?.innerText.includes('on node 1')", what="its line in another stream")
    press(browser, "N")
    browser.wait_for("return document.querySelector('.find .count').innerText === '1 of 12'", what="the first hit again")
    browser.screenshot(SHOTS / "log-search.png")
    address = browser.run("return location.href")
    browser.open(address)
    browser.wait_for("return document.querySelector('.find .count')?.innerText === '1 of 12'", what="the same view by its address")
    check_console(browser)


def test_hits_come_live_and_alone(server, browser):
    send_nodes(server)
    browser.open(server.url + "/jobs/llama?find=nccl%20t.*%201$&find_regex=1&hits=only")
    browser.wait_for("return document.querySelectorAll('.hit').length === 4", what="the hits of node 1")
    assert browser.run("return document.querySelector('[role=log]')") is None
    server.send("llama", ["nothing", "NCCL timeout again 1", "NCCL timeout 12"], stream="algo-1")
    browser.wait_for("return document.querySelectorAll('.hit').length === 5", what="the live hit")
    wait_until(lambda: "again 1" in browser.run(HITS)[0], what="its text")
    check_console(browser)


def test_histogram_jumps(server, browser):
    send_nodes(server)
    browser.open(server.url + "/jobs/llama?find=NCCL")
    browser.wait_for("return document.querySelectorAll('.histogram .bar').length > 1", what="the histogram")
    browser.run("document.querySelector('.histogram').focus()")
    press(browser, "Home")
    press(browser, "Enter")
    browser.wait_for("return document.querySelector('.line.chosen')?.innerText.includes('timeout 90 on node 0')", what="the first hit of all")


def test_a_wrong_expression_is_told_where_one_types(server, browser):
    send_nodes(server, nodes=1)
    browser.open(server.url + "/jobs/llama?find=nccl(&find_regex=1")
    browser.wait_for("return document.querySelector('.findproblem')?.innerText.includes('offset 5')", what="what is wrong")
    assert browser.run("return document.querySelector('[role=log]') !== null")


def test_hits_are_only_text(server, browser):
    server.send("llama", ["<img src=x onerror=\"document.title='owned'\">", *losses(1, 5)])
    browser.open(server.url + "/jobs/llama?find=onerror")
    browser.wait_for("return document.querySelector('.hit mark')?.innerText === 'onerror'", what="the hit")
    assert browser.run("return document.querySelectorAll('.hit img').length") == 0
    check_console(browser)


def test_the_first_view_does_without_the_log(server, browser):
    server.send("llama", losses(0, 10))
    browser.open(server.url + "/")
    browser.wait_for("return document.querySelector('[data-name]') !== null", what="the job")
    loaded = "return performance.getEntriesByType('resource').map(e => e.name).filter(n => /\\/assets\\/(log|incidents)-.*[.]js/.test(n))"
    assert browser.run(loaded) == []
    browser.click("[data-name] a")
    browser.wait_for("return document.querySelector('[role=log]') !== null", what="the log")
    later, = browser.run(loaded)
    reply = server.get(later.removeprefix(server.url))
    assert reply.status == 200 and "immutable" in reply.headers["Cache-Control"] and reply.headers["Content-Type"].startswith("text/javascript")
    check_console(browser)


def test_deleted_text_is_said(tmp_path, browser):
    server = Server(tmp_path, "--seal-age", "100ms").start()
    try:
        dice = random.Random(1)
        server.send("old", [f"step: {i} loss: {dice.random():.6f} {dice.randbytes(48).hex()}" for i in range(8000)])
        server.post("/api/v1/jobs/old/transitions", json={"SecondaryStatus": "Completed", "time_ms": 1_760_000_000_000})
        wait_until(lambda: server.get("/api/v1/retention").body["forecast"]["next"], what="the sealer")
        assert server.put("/api/v1/retention", json={"log_bytes": 1000}).status == 200
        wait_until(lambda: server.get("/api/v1/jobs/old/logs?stream=algo-1&from=0&limit=1").status == 410, what="the text to go")
        browser.open(server.url + "/jobs/old")
        browser.wait_for("return document.querySelector('.gonenote')?.innerText.includes('deleted on')", what="what became of the text")
        browser.wait_for("return document.querySelector('.line .cut')?.innerText === 'deleted'", what="the rows without text")
        browser.screenshot(SHOTS / "log-deleted.png")
    finally:
        server.close()


def test_all_nodes_by_time(server, browser):
    send_nodes(server)
    browser.open(server.url + "/jobs/llama?merged=1")
    browser.wait_for("return document.querySelectorAll('.merged .line').length > 5", what="the merged lines")
    browser.wait_for("return document.querySelector('.merged').innerText.includes('step: 399')", what="the newest ones")
    nodes = browser.run("return [...document.querySelectorAll('.merged .line')].slice(-3).map(e => e.querySelector('.node').innerText)")
    assert nodes == ["algo-0", "algo-1", "algo-2"]
    server.send("llama", ["now and here"], stream="algo-1")
    browser.wait_for("return document.querySelector('.merged').innerText.includes('now and here')", what="the new line")
    browser.run("document.querySelector('.merged').scrollTop = 0")
    browser.wait_for("return document.querySelector('.merged .content').clientHeight > 17 * 400", what="older lines")
    browser.screenshot(SHOTS / "log-merged.png")
    check_console(browser)


def test_go_to_a_time(server, browser):
    send_nodes(server)
    browser.open(server.url + "/jobs/llama?stream=algo-1")
    browser.wait_for("return document.querySelector('.goto input') !== null", what="the field")
    browser.type(".goto input", "-398s\n")
    browser.wait_for("return /step: 20[01] /.test(document.querySelector('.line.chosen')?.innerText)", what="the line of that time")


def test_download(server, browser):
    send_nodes(server)
    browser.open(server.url + "/jobs/llama?stream=algo-1")
    browser.wait_for("return document.querySelector('a[download]') !== null", what="the link")
    path = browser.run("return document.querySelector('a[download]').getAttribute('href')")
    assert server.get(path).raw.count(b"\n") == 400


# ---- many nodes ----

def test_nodes_are_folded_or_drawn_one_by_one(server, browser):
    for node in range(1, 4):
        slow = 1.5 if node == 2 else 1
        server.send("llama", [f"iter {n}: loss {3 - n / 100:.4f}, time {slow * (100 + n * 7919 % 9):.2f}ms, mfu 12.50%" for n in range(100)], stream=f"algo-{node}")
        server.wait_for_points("llama", "train:loss", 100, stream=f"algo-{node}")
    open_job(browser, server, "llama")
    slow_chart = "[...document.querySelectorAll('.chart')].find(e => e.getAttribute('aria-label').includes('step_time'))"
    browser.wait_for(f"return {slow_chart}?.querySelector('.nodeline button b')?.innerText === 'algo-2'", what="the node that does worst")
    assert browser.run("return document.querySelector('.chart.lead .nodeline button')") is None, "all have the same loss"
    folded = browser.run(COLOURED)
    browser.run("[...document.querySelectorAll('.toolbar button')].find(e => e.innerText === 'by node').click()")
    browser.wait_for("return location.search === '?nodes=each'", what="the view's address")
    browser.wait_for(f"return {slow_chart}.querySelectorAll('.nodeline li').length === 3", what="whose curve is whose")
    browser.wait_for(f"const drawn = (() => {{ {COLOURED} }})(); return drawn > 0 && drawn !== {folded}", what="curves of their own")
    fetches = browser.run(FETCHES)
    server.send("llama", "iter 100: loss 9.5, time 100ms, mfu 12.50%", stream="algo-3")
    browser.wait_for("return document.querySelector('.kept').innerText.includes('301 points')", what="the live point")
    assert browser.run(FETCHES) == fetches, "the point was fetched, not pushed"
    browser.screenshot(SHOTS / "nodes.png")
    browser.run(f"{slow_chart}.querySelector('.nodeline button').click()")
    browser.wait_for("return new URLSearchParams(location.search).get('series') === 'algo-2'", what="the worst node alone")
    check_console(browser)


def test_a_derived_series_says_how_it_was_made(server, browser):
    reply = server.post("/api/v1/jobs", json={"TrainingJobName": "llama",
        "HyperParameters": {"global_batch_size": "480", "seq_length": "1024"}})
    assert reply.status == 201, reply
    server.send("llama", [f"iter {n}: loss {3 - n / 100:.4f}, time 100.00ms, mfu 12.50%" for n in range(100)])
    open_job(browser, server, "llama")
    tag = "[...document.querySelectorAll('.chart')].find(e => e.getAttribute('aria-label') === 'derived:tokens')?.querySelector('.derived')"
    browser.wait_for(f"return {tag}", what="the mark of a derived series")
    tip = f"getComputedStyle({tag}.querySelector('.tip')).visibility"
    assert browser.run(f"return {tip}") == "hidden"
    browser.run(f"{tag}.querySelector('button').focus()")
    assert browser.run(f"return {tip}") == "visible"
    said = browser.run(f"return {tag}.querySelector('.tip').innerText + {tag}.querySelector('button').getAttribute('aria-label')")
    assert said.count("step * tokens_per_step") == 2 and said.count("491,520") == 2 and said.count("seq_length, HyperParameters") == 2
    assert browser.run("return [...document.querySelectorAll('.chart')].find(e => e.getAttribute('aria-label') === 'train:loss').querySelector('.derived')") is None
    check_console(browser)


def test_a_job_is_copied_to_run_again(server, browser):
    server.send("llama", [f"step: {n} loss: 2.5" for n in range(3)])
    open_job(browser, server, "llama")
    browser.run("Object.defineProperty(navigator, 'clipboard', {value: {writeText: async text => { window.copied = text; }}})")
    for words, begins in (("aws CLI", "aws sagemaker create-training-job --cli-input-json '{"), ("JSON", '{"TrainingJobName":"llama-2"')):
        button = f"[...document.querySelectorAll('.jobhead button')].find(e => e.innerText.includes('{words}'))"
        browser.wait_for(f"return {button}", what=f"the button for {words}")
        browser.run(f"{button}.click()")
        browser.wait_for(f"return (window.copied ?? '').startsWith({begins!r})", what=f"{words} in the clipboard")
    browser.wait_for("return document.querySelector('.jobhead [role=status]')?.innerText === 'Copied'", what="what was done")
    check_console(browser)
