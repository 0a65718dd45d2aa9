"""Jobs side by side in a real browser: marked in the list, drawn over each other, read off under the cursor."""

import json
from urllib.parse import quote

from smserver import ROOT

SHOTS = ROOT / "build/screenshots"
ROWS = "return [...document.querySelectorAll('table.compared tbody tr')].map(e => e.innerText.replace(/\\s+/g, ' ').trim())"
SPIKED = "a, <b>spiked"


def check_console(browser):
    assert [text for level, text in browser.console() if level in ("SEVERE", "ERROR")] == []


def send_jobs(server):
    """Two trainers, two names of the loss; one of them has a single point far above its neighbours."""
    for job, metric, start in (("calm", "loss", 4.0), (SPIKED, "lm loss", 8.0)):
        series = {"metric": metric, "stream": "algo-1", "step": list(range(5000)),
                  "value": [90.0 if job == SPIKED and n == 3111 else start / (1 + n / 1000) for n in range(5000)]}
        reply = server.post("/api/v1/points?job=" + quote(job), json={"series": [series]})
        assert reply.status == 200, reply
        server.wait_for_points(job, metric, 5000)
    server.send("mute", ["nothing to see"])
    for job, rate in (("calm", "1e-4"), (SPIKED, "<i>3e-4")):
        reply = server.request("PATCH", "/api/v1/jobs/" + quote(job, safe=""), json={"Tags": [{"Key": "rate", "Value": rate}, {"Key": "team", "Value": "nlp"}]})
        assert reply.status == 200, reply


def test_marked_jobs_are_compared(server, browser):
    send_jobs(server)
    browser.open(server.url + "/")
    browser.wait_for("return document.querySelectorAll('table.jobs tbody tr').length === 3", what="three jobs")
    for name in (SPIKED, "calm"):
        browser.run("document.querySelector(`tr[data-name=${arguments[0]}]`).focus()", json.dumps(name))
        browser.run("document.dispatchEvent(new KeyboardEvent('keydown', {key: 'x', bubbles: true}))")
    browser.wait_for("return document.querySelector('.marked a')?.innerText === 'Compare 2'", what="two marked")
    browser.click(".marked a")
    browser.wait_for("return document.querySelector('.compare .kept')?.innerText.includes('10,000 points, all kept')", what="both curves")
    rows = browser.run(ROWS)
    assert len(rows) == 2 and rows[0].startswith(SPIKED) and "lm loss" in rows[0] and rows[1].startswith("calm"), rows
    assert browser.run("return document.querySelectorAll('table.compared b').length") == 0
    # the spike is one point of 5000, and is drawn: the axis reaches it, and its colour stands above half of the plot
    over = """const canvas = document.querySelector('.compare canvas'), context = canvas.getContext('2d');
        const {width, height} = canvas, data = context.getImageData(Math.round(width * 0.1), 0, Math.round(width * 0.85), Math.round(height / 2)).data;
        const hue = getComputedStyle(document.querySelector('.compared .swatch line')).stroke.match(/\\d+/g).map(Number);
        let near = 0;
        for (let i = 0; i < data.length; i += 4) near += Math.max(...hue.map((c, k) => Math.abs(c - data[i + k]))) < 48;
        return near"""
    assert browser.run(over) > 20
    browser.screenshot(SHOTS / "compare.png")
    settings = "return [...document.querySelectorAll('.differences tbody tr')].map(e => e.innerText.replace(/\\s+/g, ' '))"
    browser.wait_for(f"return (() => {{ {settings} }})().includes('tag.rate <i>3e-4 1e-4')", what="what differs")
    assert not any("tag.team" in row for row in browser.run(settings)), "what is the same"
    browser.click(".differences button")
    browser.wait_for(f"return (() => {{ {settings} }})().includes('tag.team nlp nlp')", what="what is the same, on request")
    box = "document.querySelector('.compare .u-over')"
    browser.run(f"""const box = {box}.getBoundingClientRect();
        {box}.dispatchEvent(new MouseEvent('mousemove', {{clientX: box.left + box.width / 2, clientY: box.top + 10, bubbles: true}}))""")
    browser.wait_for("return document.querySelector('.compared th.at').innerText.startsWith('step 2,')", what="the step under the cursor")
    check_console(browser)


def test_what_is_not_there_is_said(server, browser):
    send_jobs(server)
    browser.open(f"{server.url}/compare?jobs=calm,nobody,mute")
    browser.wait_for("return document.querySelector('.missing')?.innerText.includes('“nobody”')", what="the name without a job")
    browser.wait_for("return document.querySelector('.compare select')?.innerText.includes('1 of 2')", what="that only one has it")
    browser.click(".missing button")
    browser.wait_for("return decodeURIComponent(location.search) === '?jobs=calm,mute' && !document.querySelector('.missing')", what="the rest")
    browser.open(server.url + "/compare")
    browser.wait_for("return document.querySelector('.empty')?.innerText.includes('Nothing is chosen')", what="how to choose")
    browser.resize(390, 844)
    browser.open(f"{server.url}/compare?jobs=calm,mute")
    browser.wait_for("return document.querySelectorAll('table.compared tbody tr').length === 2", what="both on a phone")
    browser.screenshot(SHOTS / "compare-phone.png")
