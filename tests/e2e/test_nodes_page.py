"""Who sends a job, how each ended, and commands to them, in a real browser."""

import json

from smserver import ROOT

SHOTS = ROOT / "build/screenshots"
ROW = "return document.querySelector(`[data-stream='${arguments[0]}']`)?.innerText.replace(/\\s+/g, ' ') ?? ''"


def open_session(server, stream, job="llama"):
    reply = server.post("/api/v1/sessions", json={"job": job, "run_key": "r", "stream": stream, "host": f"gpu-<b>{stream}"})
    assert reply.status < 300, reply
    server.send(job, [f"step: {n} loss: 2.5" for n in range(10)], stream=stream)
    return "/api/v1/sessions/" + reply.body["session"]


def check_console(browser):
    assert [text for level, text in browser.console() if level in ("SEVERE", "ERROR")] == []


def test_nodes_and_how_they_ended(server, browser):
    open_session(server, "algo-1")
    lost = open_session(server, "algo-2")
    assert server.post(lost, json={"exit": {"signal": 9, "reason": "killed <b>by signal 9"}}).status < 300
    browser.open(server.url + "/jobs/llama")
    browser.wait_for("return [...document.querySelectorAll('.jobtabs a')].some(e => e.innerText === 'Nodes')", what="the tab")
    browser.run("[...document.querySelectorAll('.jobtabs a')].find(e => e.innerText === 'Nodes').click()")
    browser.wait_for(f"return location.pathname === '/jobs/llama/nodes' && (() => {{ {ROW} }})('algo-1') !== null && document.querySelectorAll('[data-stream]').length === 2", what="two nodes")
    one, two = (browser.run(ROW, stream) for stream in ("algo-1", "algo-2"))
    assert "gpu-<b>algo-1" in one and "rank 0" in one and "signal" not in one, one
    assert "killed <b>by signal 9" in two, two
    browser.run("[...document.querySelectorAll('.viewhead button')].find(e => e.innerText.startsWith('in trouble: 1')).click()")
    browser.wait_for("return location.search === '?only=trouble' && document.querySelectorAll('[data-stream]').length === 1", what="the one in trouble")
    browser.screenshot(SHOTS / "nodes-list.png")
    check_console(browser)


def test_a_stop_is_asked_once_and_its_answer_shown(server, browser):
    session = open_session(server, "algo-1")
    browser.open(server.url + "/jobs/llama/nodes")
    stop = "[...document.querySelectorAll('.jobhead button')].find(e => e.innerText === 'Stop…')"
    browser.wait_for(f"return {stop}", what="the button")
    browser.run(f"{stop}.click()")
    browser.wait_for("return document.querySelector('.jobhead dialog').open", what="the question")
    assert "--on stop" in browser.text(".jobhead dialog") and server.get("/api/v1/jobs/llama/commands").body["commands"] == []
    browser.screenshot(SHOTS / "stop.png")
    browser.click(".jobhead dialog .primary")
    browser.wait_for("return document.querySelector('.commands')?.innerText.includes('1 queued')", what="the command on its way")
    browser.wait_for(f"return !{stop} && document.querySelector('.jobhead .status').innerText.includes('stopping')", what="no button for a job that stops")
    [command] = server.post(session, json={}).body["commands"]
    browser.wait_for("return document.querySelector('.commands').innerText.includes('1 delivered')", what="that it was heard")
    assert server.post(session, json={"acks": [{"id": command["id"], "result": "signal SIGTERM sent to process 7"}]}).status < 300
    browser.wait_for("return document.querySelector('.commands').innerText.includes('signal SIGTERM sent (algo-1')", what="its answer")
    browser.screenshot(SHOTS / "commands.png")
    check_console(browser)


def test_a_checkpoint_from_the_job_itself(server, browser):
    open_session(server, "algo-1")
    browser.open(server.url + "/jobs/llama")
    button = "[...document.querySelectorAll('.jobhead button')].find(e => e.innerText === 'Checkpoint…')"
    browser.wait_for(f"return {button}", what="the button")
    browser.run(f"{button}.click()")
    browser.click(".jobhead dialog .primary")
    browser.wait_for("return document.querySelector('.jobhead').innerText.includes('sent to 1 sender')", what="who hears of it")
    [command] = server.get("/api/v1/jobs/llama/commands").body["commands"]
    assert command["command"] == "checkpoint", json.dumps(command)
    server.post("/api/v1/jobs/llama/transitions", json={"SecondaryStatus": "Completed"})
    browser.wait_for(f"return !{button}", what="no button for a job that has ended")
