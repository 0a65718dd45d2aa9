"""People sign in by OpenID Connect: with a real provider (npm's oidc-provider)."""

import json

import pytest

from openid import RULES, Browser, RealProvider, SignInServer, stated
from smserver import wait_until


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    folder = tmp_path_factory.mktemp("oidc")
    provider = None

    def make(url):
        nonlocal provider
        provider = RealProvider(url).start()
        return [stated(folder, provider.issuer, name) for name in ("basic", "post", "public")]

    server = SignInServer(folder, make).start()
    yield server
    server.close()
    provider.close()


@pytest.mark.parametrize("name", ["basic", "post", "public"])
def test_a_person_signs_in_and_out(real, name):
    browser = Browser()
    assert browser.who(real)["authenticated"] is False and browser.get(real, "/api/v1/jobs").status == 401
    assert {"name": name, "label": name.title()} in browser.who(real)["providers"]
    url, reply = browser.sign_in(real, name, "ann+x+admins", "/jobs/a%20b?tab=log")
    assert (url, reply) == (real.public_url + "/jobs/a%20b?tab=log", None)
    assert browser.who(real) | {"providers": 0} == {"required": True, "authenticated": True, "scope": "admin", "team": None, "name": f"oidc/{name}/ann@example.org",
        "is_person": True, "providers": 0}
    made = browser.ask(real.public_url + "/api/v1/jobs", method="POST", headers={"Content-Type": "application/json", "Content-Length": "0"})
    assert made.status == 400  # of the body, and let in
    assert browser.get(real, "/api/v1/jobs").status == 200
    copied = browser.copy()
    assert browser.ask(real.public_url + "/api/v1/session", method="DELETE").status == 204
    assert "smfleet_session" not in browser.cookies
    assert copied.get(real, "/api/v1/jobs").status == 401
