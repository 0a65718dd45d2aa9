"""From a posted line to a drawn point, in a real browser. Screenshots go to build/screenshots."""

import json
import math
import time

import pytest
from smserver import ROOT

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
