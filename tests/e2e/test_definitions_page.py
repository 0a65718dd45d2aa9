"""The workbench of a job's definitions in a real browser: what one types is tried on the job's own lines, saved, and reaches back."""

import json
import math

from smserver import ROOT, wait_until

SHOTS = ROOT / "build/screenshots"
MARKS = "return [...document.querySelectorAll('.tryline mark')].map(e => e.className.split(' ')[0] + ' ' + e.innerText)"
REGEXES = "return [...document.querySelectorAll('.c-regex textarea')].map(e => e.value)"


def training(count, first=0):
    return [f"it={n} objective<{2 + 3 * math.exp(-n / 80):.4f}> rate<{900 + n % 9}/s>" for n in range(first, first + count)]


def set_theme(browser, theme):
    browser.run("localStorage.setItem('smfleet.theme', arguments[0])", theme)


def open_bench(browser, server, job, query=""):
    browser.open(f"{server.url}/jobs/{job}/definitions{query}")
    browser.wait_for("return document.querySelectorAll('.tryline').length > 0", what="the job's lines")


def cell(row, column):
    return f".deftable tbody:nth-of-type({row}) .c-{column} :is(input, textarea)"


def add(browser, name, regex):
    browser.click(".savebar .add")
    row = browser.run("return document.querySelectorAll('.deftable tbody').length")
    browser.wait_for("return document.activeElement.closest('.c-name') !== null", what="the new row's name")
    browser.type(cell(row, "name"), name)
    browser.type(cell(row, "regex"), regex)
    return row


def press(browser, key, **more):
    browser.run(f"document.activeElement.dispatchEvent(new KeyboardEvent('keydown', "
        f"Object.assign({{key: {json.dumps(key)}, bubbles: true, cancelable: true}}, {json.dumps(more)})))")


def check_console(browser):
    assert [text for level, text in browser.console() if level in ("SEVERE", "ERROR")] == []


def definitions(server, job):
    return server.get(f"/api/v1/jobs/{job}/definitions").body


def test_a_typed_expression_is_seen_saved_and_reaches_back(server, browser):
    server.send("odd", training(500))
    browser.open(server.url + "/jobs/odd")
    browser.wait_for("return document.querySelector('.jobtabs') !== null", what="the job's page")
    press(browser, "d")
    browser.wait_for("return location.pathname === '/jobs/odd/definitions'", what="the workbench")
    browser.wait_for("return document.querySelectorAll('.tryline').length === 200", what="the last lines")
    add(browser, "objective", r"it=(?<step>\d+) objective<(?<value>[0-9.]+)>")
    browser.wait_for("return document.querySelectorAll('.tryline mark.value').length === 200", what="the values in their lines")
    assert browser.run(MARKS)[:4] == ["step 300", "value 2.0706", "step 301", "value 2.0697"]
    assert "200" in browser.text(".deftable .c-tried") and "µs" in browser.text(".deftable .c-tried")
    browser.wait_for("return document.querySelector('.preview path')?.getAttribute('d').length > 1000", what="the curve")
    assert definitions(server, "odd")["source"] != "job"
    browser.click(".savebar .save")
    browser.wait_for("return document.querySelector('.savebar [role=status]').innerText.startsWith('Saved')", what="the save")
    kept = definitions(server, "odd")
    assert (kept["source"], [one["Name"] for one in kept["definitions"]]) == ("job", ["objective"])
    server.send("odd", training(10, 500))
    server.wait_for_points("odd", "objective", 10)
    browser.run("[...document.querySelectorAll('.savebar button')].find(e => e.innerText === 'Save and back-fill').click()")
    browser.wait_for("return document.querySelector('.backfill.done') !== null", what="the end of the back-fill")
    assert server.series("odd", "objective")["count"] == 510
    browser.wait_for("return document.querySelector('.c-health').innerText.startsWith('510 of')", what="its health over the whole log")
    browser.screenshot(SHOTS / "definitions.png")
    set_theme(browser, "dark")
    open_bench(browser, server, "odd")
    browser.wait_for("return document.querySelectorAll('.tryline mark.value').length === 200", what="the same view by its address")
    browser.screenshot(SHOTS / "definitions-dark.png")
    check_console(browser)


def test_a_preset_is_named_with_its_reason_and_another_can_be_taken(server, browser):
    server.send("gpt", [f"iter {n}: loss {3 - n / 1000:.4f}, time 350.12ms, mfu 12.50%" for n in range(300)])
    server.wait_for_points("gpt", "train:loss", 300)
    open_bench(browser, server, "gpt")
    browser.wait_for("return document.querySelector('.source')?.innerText.includes('Preset nanogpt')", what="the preset")
    assert definitions(server, "gpt")["reason"] in browser.text(".source")
    assert browser.run(REGEXES)[0].startswith(r"^iter (?<step>\d+): loss (?<loss>{N}), time")
    assert browser.text(".deftable .error") is None
    browser.run("const e = document.querySelector('.source select'); e.value = 'megatron-lm'; e.dispatchEvent(new Event('change', {bubbles: true}))")
    browser.wait_for("return document.querySelector('.preview .warnings')?.innerText.includes('none of these lines match')", what="that it does not fit")
    assert definitions(server, "gpt")["preset"] == "nanogpt", "looking at a preset takes it"
    browser.click(".savebar .save")
    wait_until(lambda: definitions(server, "gpt")["preset"] == "megatron-lm", what="the other preset")
    browser.wait_for("return document.querySelector('.source')?.innerText.includes('Preset megatron-lm')", what="its name")
    check_console(browser)


def test_what_is_wrong_stands_under_its_column(server, browser):
    server.send("odd", training(20))
    open_bench(browser, server, "odd")
    row = add(browser, "bad", "rate<([0-9]+")
    browser.wait_for("return document.querySelector('.deftable .error pre') !== null", what="the error")
    text, caret = browser.run("return document.querySelector('.deftable .error pre').textContent.split('\\n')")
    assert (text, caret.index("^")) == ("rate<([0-9]+", len(text))
    assert "column 13" in browser.text(".deftable .notes") and "parenthesis" in browser.text(".deftable .notes")
    assert browser.run("return document.querySelector(arguments[0]).getAttribute('aria-invalid')", cell(row, "regex")) == "true"
    browser.screenshot(SHOTS / "definitions-error.png")
    browser.type(cell(row, "regex"), ")")
    browser.wait_for("return document.querySelectorAll('.tryline mark.value').length === 20 && !document.querySelector('.deftable .error')", what="the mended one")
    browser.click(".savebar .save")
    browser.wait_for("return document.querySelector('.savebar [role=status]').innerText.startsWith('Saved')", what="the save")


def test_rows_are_moved_and_deleted_by_keyboard(server, browser):
    server.send("odd", training(20))
    reply = server.put("/api/v1/jobs/odd/definitions", json={"definitions": [
        {"Name": name, "Regex": f"{name}<([0-9.]+)"} for name in ("objective", "rate", "third")]})
    assert reply.status == 200, reply
    open_bench(browser, server, "odd")
    names = "return [...document.querySelectorAll('.c-name input')].map(e => e.value).join(' ')"
    browser.click(cell(1, "name"))
    press(browser, "ArrowDown", altKey=True)
    browser.wait_for(f"return ({names.removeprefix('return ')}) === 'rate objective third'", what="the row moved")
    browser.wait_for("return document.activeElement.value === 'objective'", what="the focus with it")
    browser.run("document.querySelector('button[aria-label=\"Delete third\"]').click()")
    browser.wait_for(f"return ({names.removeprefix('return ')}) === 'rate objective'", what="the row gone")
    press(browser, "Enter", ctrlKey=True)
    wait_until(lambda: [one["Name"] for one in definitions(server, "odd")["definitions"]] == ["rate", "objective"], what="the save")
    check_console(browser)


def test_lines_are_paged_filtered_and_pasted_and_only_text(server, browser):
    evil = "it=1 objective<1.5> <img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"
    server.send("odd", [evil, *training(450, 1), "chatter"])
    server.put("/api/v1/jobs/odd/definitions", json={"definitions": [{"Name": "objective", "Regex": r"objective<([0-9.]+)>"}]})
    open_bench(browser, server, "odd", "?from=400&show=other")
    browser.wait_for("return document.querySelectorAll('.tryline').length === 1", what="the line that does not match")
    assert browser.text(".tryline .n") == "451" and "chatter" in browser.text(".tryline")
    open_bench(browser, server, "odd", "?from=0")
    browser.wait_for("return document.querySelectorAll('.tryline mark.value').length === 200", what="the values")
    assert "onerror" in browser.text(".tryline")
    assert browser.run("return document.querySelectorAll('.bench img, .bench script').length") == 0
    browser.run("[...document.querySelectorAll('.triedlines button')].find(e => e.innerText === 'later').click()")
    browser.wait_for("return document.querySelector('.tryline .n').innerText === '200' && location.search.includes('from=200')", what="the next page")
    browser.run("[...document.querySelectorAll('.triedlines button')].find(e => e.innerText === 'last match').click()")
    browser.wait_for("return location.search.includes('from=350')", what="the page around the newest line that matches")
    browser.run("[...document.querySelectorAll('.triedlines button')].find(e => e.innerText === 'pasted').click()")
    browser.wait_for("return document.querySelector('textarea.pasted') !== null", what="room for lines")
    browser.type("textarea.pasted", "objective<7> <b>x</b>\nnothing")
    browser.wait_for("return document.querySelectorAll('.tryline').length === 2", what="the pasted lines")
    assert browser.run(MARKS) == ["value 7"] and "owned" not in browser.run("return document.title")
    check_console(browser)


def test_edits_outlive_a_look_at_the_charts(server, browser):
    server.send("odd", training(20))
    open_bench(browser, server, "odd")
    add(browser, "objective", r"objective<([0-9.]+)>")
    browser.click(".jobtabs a")
    browser.wait_for("return document.querySelector('.charts') !== null", what="the charts")
    browser.click(".jobtabs a:last-child")
    browser.wait_for("return document.querySelector('.c-name input')?.value === 'objective'", what="what was typed")
    assert "not saved" in browser.text(".savebar [role=status]")


def test_the_workbench_fits_a_phone(server, browser):
    browser.resize(390, 844)
    server.send("odd", training(20))
    open_bench(browser, server, "odd")
    assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
    browser.screenshot(SHOTS / "definitions-phone.png")
