"""Sends the metrics of a training to an smfleet server, and reads them again. The standard library is enough.

    import smfleet
    smfleet.init("llama", config={"lr": 3e-4})
    smfleet.log({"loss": 2.5})
    smfleet.note("the data loader was changed", step=100)

    smfleet.Api().jobs("status:failed").df()
    smfleet.Api().job("llama").points("loss").numpy()

log() never raises and does no I/O: what it got is written to a file and sent by threads of its own.
"""

from ._read import Api, ApiError, Job, Jobs, Points
from ._run import VERSION as __version__
from ._run import Run, finish, init, log, note

__all__ = ["Api", "ApiError", "Job", "Jobs", "Points", "Run", "__version__", "finish", "init", "log", "note"]
