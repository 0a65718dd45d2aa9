"""
python -m smfleet sync [--server URL] [--token-file FILE] FILE_OR_FOLDER...: sends what runs left behind that could not.
python -m smfleet import wandb ENTITY/PROJECT: runs of W&B become jobs; WANDB_API_KEY and WANDB_BASE_URL say where they are.
python -m smfleet import neptune FOLDER: runs that neptune-exporter wrote as Parquet become jobs; needs pyarrow.
"""

import argparse
import os
import sys

from ._spool import SpoolInUse, default_folder, find_spools, warn
from ._run import send_spool
from ._neptune import move_export
from ._wandb import move_project


def read_token(path):
    if not path:
        return os.environ.get("SMFLEET_TOKEN")
    with open(path) as file:
        return file.read().strip()


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m smfleet", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False)
    parser.add_argument("what", choices=["sync", "import"])
    parser.add_argument("--server", metavar="URL", default=os.environ.get("SMFLEET_SERVER"),
                        help="The smfleet server; else SMFLEET_SERVER, else the one that the run was told.")
    parser.add_argument("--token-file", metavar="FILE", default=os.environ.get("SMFLEET_TOKEN_FILE"),
                        help="File with the token to show to the server; else SMFLEET_TOKEN.")
    parser.add_argument("--ca-file", metavar="FILE", default=os.environ.get("SMFLEET_CA_FILE"))
    parser.add_argument("--drain-timeout", metavar="SECONDS", type=float, default=60, help="How long to go on trying. [60]")
    parser.add_argument("paths", nargs="*", metavar="FILE_OR_FOLDER", help="[{}]".format(default_folder()))
    options = parser.parse_intermixed_args(arguments)
    if options.what == "import":
        if len(options.paths) != 2 or options.paths[0] not in ("wandb", "neptune"):
            parser.error("import takes: wandb ENTITY/PROJECT, or neptune FOLDER")
        move = move_project if options.paths[0] == "wandb" else move_export
        return move(options.paths[1], options.server, read_token(options.token_file), options.ca_file)
    worst, places = 0, options.paths or [default_folder()]
    spools = list(find_spools(places)) if options.paths or os.path.isdir(places[0]) else []  # no run has made the folder
    if not spools:
        warn("there is nothing to send in {}".format(", ".join(places)))
    for path in spools:
        try:
            code = send_spool(path, options.server, options.token_file, options.ca_file, options.drain_timeout)
        except SpoolInUse:
            sys.stderr.write("smfleet: {} is of a run that still sends it\n".format(path))
            continue
        except (OSError, ValueError) as error:
            sys.stderr.write("smfleet: {}: {}\n".format(path, error))
            code = 2
        worst = max(worst, code)
    return worst


def run():
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
