"""Conversations with the API that nobody wrote: drawn step by step from a seed, by tokens of several teams, with kills in between. A model (fleet_model.py) says of each
step how it is answered, and behind it what is there and who may see it. A conversation that breaks something is made as short as it can be, and told with its steps."""

import random
import time

import talking_copies  # noqa: F401
import talking_definitions  # noqa: F401
import talking_doors  # noqa: F401
import talking_jobs  # noqa: F401
import talking_lists  # noqa: F401
import talking_logs  # noqa: F401
import talking_mlflow  # noqa: F401
import talking_times  # noqa: F401
import talking_wandb  # noqa: F401
from attack import attack
from killing import check
from smserver import PATIENCE_S
from talking import READERS, TOKENS, VERBS, Talk
from test_auth import make_token

ALWAYS = ("start_again", "create", "state")
STEPS_OF_ONE, SHORTENED_S, SHORT_PATIENCE_S = 60, 120, 2.0


def drawn(seed, count=STEPS_OF_ONE):
    """(verb, who asks, who looks at what it did, arguments): they depend on nothing that is answered, so any of them may be left out. Most conversations are of
    some rooms' verbs alone, which so come upon each other in more ways, and in many one token that may do all asks for nearly all."""
    chance = random.Random(seed)
    names = list(VERBS)
    if chance.random() < 0.7:
        rooms = [room for room in dict.fromkeys(VERBS[name][2].__module__ for name in names) if chance.random() < 0.3]
        names = [name for name in names if name in ALWAYS or (VERBS[name][2].__module__ in rooms and chance.random() < 0.8)]
    share_of_root = chance.choice([0, 0.9])
    chosen = chance.choices(names, [VERBS[name][0] for name in names], k=count) + ["move_all"] * (chance.random() < 0.3)
    steps = []
    for name in chosen:
        arguments = VERBS[name][1](chance)
        who = arguments.pop("who")
        steps.append((name, "root" if chance.random() < share_of_root else who, chance.choice(READERS), arguments))
    return steps


class Conversations:
    def __init__(self, fight, hides_teams):
        self.fight, self.hides_teams, self.number, self.steps = fight, hides_teams, 0, 0
        teams = {token.name: (["--team", token.team] if token.team else []) for token in TOKENS}
        self.secrets = {token.name: make_token(fight.server, token.name, token.scope, *teams[token.name]) for token in TOKENS}

    def failure(self, steps, patience_s=PATIENCE_S):
        """What does not hold of these steps, or None."""
        server = self.fight.server
        if not server.process or server.process.poll() is not None:
            server.start()
        self.number += 1
        self.steps += len(steps)
        try:
            Talk(server, self.secrets, f"c{self.number}", self.hides_teams, patience_s).carry_out(steps)
        except AssertionError as wrong:
            return wrong
        return None

    def shorten(self, steps, wrong):
        """Leaves out halves, quarters, single steps, as long as what is left still breaks something."""
        deadline, size = time.monotonic() + SHORTENED_S, len(steps) // 2
        while size and time.monotonic() < deadline:
            at, is_shorter = 0, False
            while at < len(steps) and time.monotonic() < deadline:
                fewer = steps[:at] + steps[at + size:]
                again = self.failure(fewer, SHORT_PATIENCE_S) if fewer else None
                if again:
                    steps, wrong, is_shorter = fewer, again, True
                else:
                    at += size
            size = size if is_shorter and size == 1 else size // 2
        return steps, wrong

    def hold(self, seed):
        steps = drawn(seed)
        wrong = self.failure(steps)
        if not wrong:
            return
        said = f"conversation {seed} of {len(steps)} steps: {wrong}"
        shorter, wrong = self.shorten(steps, wrong)
        lines = "\n".join(f"    {name} by {who}, looked at by {reader}: {arguments}" for name, who, reader, arguments in shorter)
        raise AssertionError(f"{said}\n  of these {len(shorter)} steps: {wrong}\n{lines}") from None


def converse(fight, hides_teams):
    talks = Conversations(fight, hides_teams)
    while fight.goes_on(6):
        talks.hold(fight.chance.randrange(1 << 40))
    fight.server.stop()
    check(fight.server)
    return f"{talks.number} conversations of {talks.steps} steps"


OPTIONS = ("--rate-requests", "0", "--rate-bytes", "0")


@attack("model", "the model's answers, also behind a kill", *OPTIONS)
def conversations_of_teams(fight):
    return converse(fight, False)


@attack("model", "the same, of blocks and chunks, and nothing of another team", "--team-reads=own", "--seal-age", "100ms", "--seal-bytes", "64KiB", *OPTIONS)
def conversations_of_teams_that_read_their_own(fight):
    return converse(fight, True)
