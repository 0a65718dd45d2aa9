"""Warm pools in a real browser: the table and its lanes, filters by address, and which field keeps a job from a pool."""

import json
import pathlib
import sys
import time

from smserver import ROOT

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))

from test_pools import MINUTE_MS, document, run_job  # noqa: E402

SHOTS = ROOT / "build/screenshots"
ROWS = "return [...document.querySelectorAll('table.pools tbody')].map(e => e.innerText.replace(/\\s+/g, ' '))"


def check_console(browser):
    assert [text for level, text in browser.console() if level in ("SEVERE", "ERROR")] == []


def send_chain(server):
    """A pool that two jobs had and that waits, and one in use."""
    now = int(time.time() * 1000)
    run_job(server, "first", now - 60 * MINUTE_MS, 480, 20, keep_alive=1800)
    run_job(server, "<b>second", now - 35 * MINUTE_MS, 30, 15, keep_alive=3600)
    assert server.post("/api/v1/jobs", json=document("other", 600, count=9)).status == 201
    assert server.post("/api/v1/jobs/other/transitions", json={"SecondaryStatus": "Training", "time_ms": now - MINUTE_MS}).status < 300


def open_pools(server, browser, search=""):
    browser.open(f"{server.url}/pools{search}")
    browser.wait_for("return document.querySelector('table.pools .lane > *') !== null", what="a lane")


def test_without_pools_it_says_how_one_comes_about(server, browser):
    browser.open(server.url + "/pools")
    browser.wait_for("return document.querySelector('.empty')?.innerText.includes('KeepAlivePeriodInSeconds')", what="what to do")
    check_console(browser)


def test_pools_their_jobs_and_their_time(server, browser):
    send_chain(server)
    browser.open(server.url + "/jobs/first")
    browser.wait_for("return [...document.querySelectorAll('.jobhead a')].some(e => e.getAttribute('href') === '/pools?job=first')", what="the job's pool")
    browser.run("[...document.querySelectorAll('.jobhead a')].find(e => e.getAttribute('href') === '/pools?job=first').click()")
    browser.wait_for("return document.querySelector('table.pools .chosen .lane > *') !== null", what="its pool, marked")
    rows = browser.run(ROWS)
    assert len(rows) == 2 and "in use 9 × p4d.24xlarge" in rows[0], rows
    assert "available 4 × p4d.24xlarge" in rows[1] and "7 min 30 s" in rows[1] and "first <b>second" in rows[1], rows
    assert browser.run("return document.querySelectorAll('table.pools b').length") == 0
    kinds = "return [...document.querySelectorAll('.chosen .lane > *')].map(e => e.className)"
    assert browser.run(kinds) == ["job", "wait", "job", "wait", "left"]
    left = "return document.querySelector('.chosen span.left').innerText"
    before = browser.run(left)
    browser.wait_for(f"const now = (() => {{ {left} }})(); return now !== {json.dumps(before)}", what="the countdown to move")
    browser.screenshot(SHOTS / "pools.png")
    browser.resize(390, 844)
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    browser.screenshot(SHOTS / "pools-phone.png")
    check_console(browser)


def test_states_by_address(server, browser):
    send_chain(server)
    open_pools(server, browser)
    browser.run("[...document.querySelectorAll('.viewhead button')].find(e => e.innerText === 'available').click()")
    browser.wait_for("return location.search === '?state=available' && document.querySelectorAll('table.pools tbody').length === 1", what="the one that waits")
    browser.open(server.url + "/pools?state=terminated")
    browser.wait_for("return document.querySelector('.empty')?.innerText.includes('No pool is terminated')", what="that there is none")
    browser.open(server.url + "/pools?state=sleeping")
    browser.wait_for("return document.querySelector('.problem')?.innerText.includes('sleeping')", what="the server's word on a wrong state")


def test_would_my_job_match(server, browser):
    send_chain(server)
    open_pools(server, browser, "?match=1")

    def ask(text):
        browser.run("""const box = document.querySelector('#matchdoc');
            box.value = arguments[0]; box.dispatchEvent(new Event('input', {bubbles: true}));""", text)
        browser.click(".poolmatch button[type=submit]")
    said = "document.querySelector('.poolmatch .said').innerText"
    ask(json.dumps(document("next")))
    browser.wait_for(f"return /start on pool \\d+, which <b>second left/.test({said})", what="the pool it would get")
    ask(json.dumps(document("next", count=5)))
    browser.wait_for(f"return {said}.includes('ResourceConfig.InstanceCount')", what="the field that stops it")
    assert browser.run("return [...document.querySelectorAll('.poolmatch tbody td')].map(e => e.innerText)") == ["ResourceConfig.InstanceCount", "5", "4"]
    browser.screenshot(SHOTS / "pools-match.png")
    ask("{}")
    browser.wait_for(f"return {said}.includes('InstanceType and InstanceCount')", what="what the document lacks")
    ask("{")
    browser.wait_for(f"return {said}.includes('not JSON')", what="that this is no document")
