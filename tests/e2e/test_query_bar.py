"""Typing a query in a real browser: suggestions by keyboard and pointer, and an error under its column."""

import json

import pytest
from smserver import ROOT

SHOTS = ROOT / "build/screenshots"
FIELD = "document.querySelector('.querybar input')"
OFFERED = "[...document.querySelectorAll('#suggestions [role=option] bdi')].map(e => e.innerText)"
CHOSEN = f"document.getElementById({FIELD}.getAttribute('aria-activedescendant'))?.querySelector('bdi').innerText"


@pytest.fixture
def page(server, browser):
    for i in range(6):
        document = {"TrainingJobName": f"llama-{i}", "HyperParameters": {"lr": "0.1", "linear_lr": str(i)},
            "Tags": [{"Key": "team", "Value": "nlp" if i % 3 else "<i>Ünicode"}]}
        assert server.post("/api/v1/jobs", json=document).status == 201
    browser.open(server.url + "/")
    browser.wait_for("return document.querySelectorAll('[data-name]').length === 6", what="the jobs")
    return browser


def press(browser, *keys):
    for key in keys:
        browser.run(f"{FIELD}.dispatchEvent(new KeyboardEvent('keydown', {{key: {json.dumps(key)}, bubbles: true, cancelable: true}}))")


def wait_offered(browser, text):
    browser.wait_for(f"return {OFFERED}.includes(arguments[0])", text, what=f"the suggestion {text}")


def test_a_query_by_keyboard(page):
    assert page.run(f"return {FIELD}.getAttribute('aria-expanded')") == "false"
    page.type(".querybar input", "é tag.t")
    wait_offered(page, "tag.team")
    assert page.run(f"return [{FIELD}.getAttribute('aria-expanded'), {FIELD}.getAttribute('aria-controls')]") == ["true", "suggestions"]
    assert page.run(f"return {CHOSEN}") is None
    press(page, "ArrowDown")
    page.wait_for(f"return {CHOSEN} === 'tag.team'", what="the chosen one, told to those who hear the page")
    press(page, "Tab")
    page.wait_for(f"return {FIELD}.value === 'é tag.team'", what="the name in the query")
    page.run(f"{FIELD}.value = ''; {FIELD}.dispatchEvent(new Event('input', {{bubbles: true}}))")
    page.type(".querybar input", "tag.team=")
    wait_offered(page, "tag.team=nlp")
    page.screenshot(SHOTS / "suggestions.png")
    press(page, "ArrowDown", "ArrowDown", "ArrowUp", "Enter")
    page.wait_for(f"return {FIELD}.value === 'tag.team=nlp '", what="the value in the query")
    page.wait_for(f"return {FIELD}.getAttribute('aria-expanded') === 'true'", what="what may follow")
    press(page, "Escape")
    page.wait_for(f"return {FIELD}.getAttribute('aria-expanded') === 'false'", what="the list to go")
    assert page.run(f"return document.activeElement === {FIELD}")
    page.type(".querybar input", "\n")
    page.wait_for("return location.search === '?q=tag.team%3Dnlp' && document.querySelectorAll('[data-name]').length === 4", what="the jobs that match")


def test_a_suggestion_by_pointer_is_only_text(page):
    page.type(".querybar input", "tag.team=")
    page.wait_for(f"return {OFFERED}.some(text => text.includes('<i>'))", what="the odd value")
    assert page.run("return document.querySelectorAll('#suggestions i').length") == 0
    page.run("""[...document.querySelectorAll('#suggestions [role=option]')].find(e => e.innerText.includes('<i>'))
        .dispatchEvent(new MouseEvent('mousedown', {bubbles: true, cancelable: true}))""")
    page.wait_for(f"return {FIELD}.value.startsWith('tag.team=\"<i>')", what="the value in the query, quoted")


def test_only_the_last_answer_counts(page):
    page.type(".querybar input", "hp.l")
    wait_offered(page, "hp.lr")
    asked = "performance.getEntriesByType('resource').filter(e => e.name.includes('/suggestions?')).length"
    before = page.run(f"return {asked}")
    page.run(f"""for (const text of ['hp.li', 'hp.lin', 'hp.line', 'hp.linear_lr=']) {{
        {FIELD}.value = text; {FIELD}.dispatchEvent(new Event('input', {{bubbles: true}})); }}""")
    wait_offered(page, "hp.linear_lr=0")
    assert page.run(f"return {asked}") == before + 1


def test_an_error_stands_under_its_column(page):
    page.type(".querybar input", "é loss.last>>3\n")
    page.wait_for("return document.querySelector('.querybar .wrong b')?.innerText.includes('expected a value')", what="what is wrong")
    assert page.run(f"return {FIELD}.getAttribute('aria-invalid')") == "true"
    columns = page.run(f"""const style = getComputedStyle({FIELD}), field = {FIELD}.getBoundingClientRect();
        const pen = document.createElement('canvas').getContext('2d'); pen.font = style.font;
        return [field.left + parseFloat(style.paddingLeft) + pen.measureText('é loss.last>').width,
            document.querySelector('.querybar .wrong b').getBoundingClientRect().left]""")
    assert abs(columns[0] - columns[1]) < 4, columns
    page.screenshot(SHOTS / "query-error.png")
    page.type(".querybar input", "x")
    page.wait_for("return document.querySelector('.querybar .wrong') === null", what="the error to go while one types on")


def test_a_view_is_saved_chosen_deleted_and_had_back(server, page):
    page.open(server.url + "/?q=name~llama&sort=-created")
    page.click("[popovertarget=views]")
    page.wait_for("return document.querySelector('.views .dim')?.innerText.includes('No view is saved')", what="that there is none")
    page.type(".views input", "<b>mine\n")
    names = "[...document.querySelectorAll('.views li bdi')].map(e => e.innerText).join()"
    page.wait_for(f"return {names} === '<b>mine'", what="the saved view")
    [view] = server.get("/api/v1/views").body["views"]
    assert (view["query"], view["sort"]) == ("name~llama", "-created")
    page.screenshot(SHOTS / "views.png")
    page.open(server.url + "/")
    page.click("[popovertarget=views]")
    page.wait_for(f"return {names} === '<b>mine'", what="the view on another day")
    page.click(".views li a")
    page.wait_for("return location.search === '?q=name%7Ellama&sort=-created' && !document.querySelector('.views').matches(':popover-open')", what="its query and sort")
    page.click("[popovertarget=views]")
    page.wait_for(f"return {names} === '<b>mine'", what="the list again")
    page.click(".views li button")
    page.wait_for(f"return {names} === '' && document.querySelector('.views [role=status] button') !== null", what="that it is gone")
    assert server.get("/api/v1/views").body["views"] == []
    page.click(".views [role=status] button")
    page.wait_for(f"return {names} === '<b>mine'", what="the view that is had back")
