"""Steps of a conversation that ask for, or change, what lists have: searches of jobs, webhooks, views."""

import math

from smserver import quote, wait_until
from talking import ADMINS, READERS, TOKENS, verb

TERMS = [("hp", "lr", "<", 0.15), ("hp", "lr", ">=", 0.2), ("hp", "batch", "=", 8), ("hp", "opt", "=", "adam"), ("hp", "seed", "exists", None), ("tag", "colour", "=", "red"),
    ("tag", "owner", "exists", None), ("status", "", "=", "InProgress"), ("status", "", "=", "Completed"), ("secondary", "", "=", "Training"), ("team", "", "=", "a"),
    ("team", "", "=", "b"), ("metric", "m.count", ">=", 3),
    ("metric", "m.max", "<", 3), ("metric", "m.last", "=", 1.5), ("metric", "m", "exists", None), ("word", "", "", "seen"), ("word", "", "", "blue"), ("label", "", "=", "paper"), ("label", "k", "=", "v")]


# ---- searches ----

def term_text(term):
    kind, key, operator, value = term
    if kind == "word":
        return value
    name = f"{kind}.{key}" if key else kind
    return f"{name} exists" if operator == "exists" else f"{name}{operator}{value}"


def number_of(text):
    try:
        return float(text)
    except ValueError:
        return math.nan


def compares(text, operator, value):
    """A number without quotes is compared with numbers alone."""
    if operator == "exists":
        return True
    if isinstance(value, str):
        return text == value
    number = number_of(text)
    return {"<": number < value, ">=": number >= value, "=": number == value}[operator]


def holds(job, term):
    kind, key, operator, value = term
    if kind in ("hp", "tag"):
        found = (job.hp if kind == "hp" else job.tags).get(key)
        return found is not None and compares(found, operator, value)
    if kind == "metric":
        return any(key[1] == "m" for key in job.series) and compares_figure(summary_of_m(job), key, operator, value)
    labels = job.labels or []
    return {"status": job.status() == value, "secondary": job.phase == value, "team": job.team == value, "label": (f"{key}={value}" if key else value) in labels,
        "word": value in (job.notes or "") or value in job.tags.values()}[kind]


def lasts_of_m(job):
    """(step, value) of the last point of each stream that has the greatest step."""
    lasts = [(summary["last_step"], summary["last"]) for summary in (series.summary() for key, series in job.series.items() if key[1] == "m")]
    return [last for last in lasts if last[0] == max(step for step, _ in lasts)]


def summary_of_m(job):
    """Of all points of all streams."""
    points = [value for key, series in job.series.items() if key[1] == "m" for _, value in series.points]
    finite = [value for value in points if math.isfinite(value)]
    return {"count": len(points), "last": lasts_of_m(job)[0][1]} | ({"max": max(finite)} if finite else {})


def compares_figure(summary, key, operator, value):
    """NaN satisfies nothing."""
    if operator == "exists":
        return True
    figure = summary.get(key.partition(".")[2], math.nan)
    return {"<": figure < value, ">=": figure >= value, "=": figure == value}[operator]


def draw_search(chance):
    parts = [(chance.random() < 0.3, chance.choice(TERMS)) for _ in range(chance.randrange(4))]
    return {"who": chance.choice(READERS), "parts": parts, "joint": chance.choice(["and", "or"]), "limit": chance.choice([1, 2, 50])}


def found_names(talk, who, query, limit):
    names, cursor = [], ""
    while True:
        body = talk.expect(200, who, "GET", f"/api/v1/jobs?q={quote(query)}&sort=name&limit={limit}&total=true{cursor}").body
        names += [row["TrainingJobName"] for row in body["jobs"]]
        if "next_cursor" not in body:
            assert body["total"] == len(names), (query, body["total"], names)
            return names
        cursor = f"&cursor={quote(body['next_cursor'])}"


@verb(4, draw_search)
def search(talk, who, parts, joint, limit):
    query = f'name:"{talk.prefix}-*"'
    if parts:
        query += " (" + f" {joint} ".join(f"{'not ' if is_not else ''}{term_text(term)}" for is_not, term in parts) + ")"
    refusal = talk.model.refuse(who, "read")
    if refusal:
        talk.expect(refusal, who, "GET", f"/api/v1/jobs?q={quote(query)}")
        return
    if any(len(lasts_of_m(job)) > 1 for job in talk.model.jobs.values()) and any(key == "m.last" for _, (_, key, _, _) in parts):
        return  # of two streams that say the same step last, it is the last in time
    of_all = all if joint == "and" else any
    wanted = sorted((job.name for job in talk.model.readable(who) if not parts or of_all(holds(job, term) != is_not for is_not, term in parts)), key=str.encode)

    def is_found():
        here = found_names(talk, who, query, limit)
        assert here == wanted, f"{query} should find {wanted}: {here}"
        return True

    wait_until(is_found, timeout=talk.patience_s, what="the search's index")  # what lines have changed follows them


# ---- webhooks: those of a team are its own ----

@verb(2, lambda chance: {"who": chance.choice(ADMINS), "team": chance.choice(["", "", "a", "b"])})
def make_webhook(talk, who, team):
    refusal = talk.model.refuse(who, "admin")
    own = "" if refusal else talk.model.tokens[who].team
    status = refusal or (403 if own and team not in ("", own) else 201)
    reply = talk.expect(status, who, "POST", "/api/v1/webhooks", json={"url": f"http://127.0.0.1:9/{talk.prefix}", "enabled": False, **({"team": team} if team else {})})
    if status == 201:
        talk.webhooks[reply.body["id"]] = team or own


@verb(1, lambda chance: {"who": chance.choice(ADMINS), "which": chance.randrange(4)})
def delete_webhook(talk, who, which):
    numbers = sorted(talk.webhooks)
    number = numbers[which % len(numbers)] if numbers else 999_999_999
    refusal = talk.model.refuse(who, "admin")
    own = "" if refusal else talk.model.tokens[who].team
    status = refusal or (404 if not numbers else 403 if own and own != talk.webhooks[number] else 204)
    talk.expect(status, who, "DELETE", f"/api/v1/webhooks/{number}")
    if status == 204:
        del talk.webhooks[number]


@verb(1, lambda chance: {"who": chance.choice(ADMINS)})
def list_webhooks(talk, who):
    refusal = talk.model.refuse(who, "admin")
    body = talk.expect(refusal or 200, who, "GET", "/api/v1/webhooks").body
    if refusal:
        return
    own = talk.model.tokens[who].team
    here = {row["id"]: row["team"] for row in body["webhooks"] if row["url"].endswith(f"/{talk.prefix}")}
    assert here == {number: team for number, team in talk.webhooks.items() if not own or own == team}, (here, talk.webhooks)


# ---- views: a token's own, and those that a team's admin shares ----

@verb(2, lambda chance: {"who": chance.choice(READERS), "view": chance.choice(["v", "w"]), "scope": chance.choice(["user", "user", "team"]), "query": chance.choice(["status=failed", "hp.lr<1"])})
def save_view(talk, who, view, scope, query):
    status = talk.model.refuse(who, "read") or (403 if scope == "team" and talk.model.tokens[who].scope != "admin" else 200)
    reply = talk.ask(who, "POST", "/api/v1/views", json={"name": f"{talk.prefix}-{view}", "query": query, "scope": scope})
    assert reply.status == status or (status == 200 and reply.status == 201), (status, reply)
    if status == 200:
        talk.views[owner_of_view(talk, who, scope), f"{talk.prefix}-{view}"] = query


def owner_of_view(talk, who, scope):
    """Of a team's view whoever is of the team; of a user's the token itself."""
    return ("team", talk.model.tokens[who].team) if scope == "team" else ("user", who)


@verb(1, lambda chance: {"who": chance.choice(READERS), "view": chance.choice(["v", "w"]), "scope": chance.choice(["user", "team"])})
def delete_view(talk, who, view, scope):
    refusal = talk.model.refuse(who, "read") or (403 if scope == "team" and talk.model.tokens[who].scope != "admin" else None)
    key = None if refusal else (owner_of_view(talk, who, scope), f"{talk.prefix}-{view}")
    status = refusal or (204 if key in talk.views else 404)
    talk.expect(status, who, "DELETE", f"/api/v1/views?name={talk.prefix}-{view}&scope={scope}")
    talk.views.pop(key, None)


@verb(1, lambda chance: {"who": chance.choice([token.name for token in TOKENS])})
def list_views(talk, who):
    refusal = talk.model.refuse(who, "read")
    body = talk.expect(refusal or 200, who, "GET", "/api/v1/views").body
    if refusal:
        return
    here = {(row["scope"], row["name"]): row["query"] for row in body["views"] if row["name"].startswith(talk.prefix + "-")}
    owners = {scope: owner_of_view(talk, who, scope) for scope in ("user", "team")}
    wanted = {(scope, name): query for (owner, name), query in talk.views.items() for scope in owners if owner == owners[scope]}
    assert here == wanted, f"the views of {who} should be {wanted}: {here}"
