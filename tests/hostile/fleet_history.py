"""The model of a job's life by facts with times, told in any order (docs/times.md): each time anew, of all that is known. It knows no server."""

from fleet_model import ENDS, Job

ORDER = ("Starting", "Pending", "Downloading", "Training", "Restarting", "Uploading", "Interrupted", "Stopping", "Stopped", "Completed", "Failed")
WAITING = ("Starting", "Pending", "Downloading", "Restarting", "Interrupted")
ANNOUNCED_S = 1 << 40  # when the server heard of the job: later than all that is dated
RESUMES = ("Starting", "Training", "Restarting")


def is_before_training(status):
    return ORDER.index(status) < ORDER.index("Training")


def follows_an_end(status, ends):
    """ends: those that stand there in a row. One that was told already, before an end of another kind, is told again."""
    if status in ENDS:
        return status == ends[-1] or status not in ends
    return status in RESUMES


def history(stated, signs, announced_s):
    """[(status, time)]. stated: {(status, time)}; signs: times of points; announced_s: when a document came, or None."""
    rows = sorted((second, ORDER.index(status), status, True) for status, second in stated)
    first_s = min([row[0] for row in rows] + list(signs), default=None)
    if announced_s is not None and (first_s is None or announced_s < first_s) and not any(status == "Starting" for status, _ in stated):
        rows.append((announced_s, 0, "Starting", False))
    rows = sorted([*rows, *((second, ORDER.index("Training"), "Training", False) for second in signs)])
    shown = []
    for at, (second, _, status, is_stated) in enumerate(rows):
        last = shown[-1][0] if shown else None
        if last in ENDS:
            ends = []
            for row in reversed(shown):
                if row[0] not in ENDS:
                    break
                ends.insert(0, row[0])
            counts = is_stated and follows_an_end(status, ends)
        elif is_stated or status == "Starting":
            counts = True
        else:  # it trains where it was waiting, and nobody says later that it still was
            next_stated = next((row[2] for row in rows[at + 1:] if row[3]), "Failed")
            counts = (last is None or last in WAITING) and not (is_before_training(next_stated) or next_stated == "Training")
        if counts and status != last:
            shown.append((status, second))
    return shown


class DatedJob(Job):
    """One of which all is told with times: its phase follows from them."""

    def __init__(self, name, team):
        super().__init__(name, team)
        self.stated, self.signs, self.announced_s = set(), set(), None

    def transitions(self):
        return history(self.stated, self.signs, self.announced_s)

    @property
    def phase(self):
        return self.transitions()[-1][0] if self.transitions() else "Starting"

    @phase.setter
    def phase(self, phase):
        assert phase == "Starting", "its phase follows from what is told"

    def give_document(self, document):
        super().give_document(document)
        self.announced_s = ANNOUNCED_S

    def see_sign_of_life(self, is_of_now):
        """Those are `signs`."""

    def tell(self, status, second):
        """Whether the history shows it."""
        self.stated.add((status, second))
        rows = self.transitions()
        for at, (shown, start_s) in enumerate(rows):
            end_s = rows[at + 1][1] if at + 1 < len(rows) else second
            if shown == status and (start_s == second if status in ENDS else start_s <= second <= end_s):
                return True
        return False
