#include "base/clock.h"
#include "cli/http/client.h"
#include "cli/ship/ship_options.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct option_spec specs[] = {
	CLIENT_OPTIONS,
	{.name = "job",
		.kind = OPTION_TEXT,
		.value_name = "NAME",
		.heading = "What it is",
		.help = "Name of the job. Else from SM_TRAINING_ENV, TRAINING_JOB_NAME, SLURM_JOB_NAME and SLURM_JOB_ID, "
			"JOB_NAME; else the script's name and the time."},
	{.name = "stream",
		.kind = OPTION_TEXT,
		.value_name = "NAME",
		.help = "Name of the stream of lines. Else from SM_CURRENT_HOST, or algo-N by SLURM_NODEID, "
			"JOB_COMPLETION_INDEX, RANK, OMPI_COMM_WORLD_RANK or PMI_RANK. Several FILEs, or those that a glob finds, are "
			"streams of their own names; TensorBoard's event files are points, and their folder is the stream, and validation/ or the like stands before its metrics."},
	{.name = "host",
		.kind = OPTION_TEXT,
		.value_name = "NAME",
		.help = "Name of this machine. Else from SLURMD_NODENAME, NODE_NAME or the system."},
	{.name = "hp",
		.kind = OPTION_TEXT,
		.is_list = true,
		.value_name = "K=V",
		.help = "A hyperparameter; COMMAND's own --key value are taken without asking."},
	{.name = "tag", .kind = OPTION_TEXT, .is_list = true, .value_name = "K=V", .help = "A tag of the job."},
	{.name = "metric",
		.kind = OPTION_TEXT,
		.is_list = true,
		.value_name = "NAME=REGEX",
		.help = "How to find a metric in the lines: the first group of REGEX is the value."},
	{.name = "instance-type",
		.kind = OPTION_TEXT,
		.value_name = "TYPE",
		.help = "Type of the machine, ml.p4d.24xlarge."},
	{.name = "instance-count",
		.kind = OPTION_I64,
		.value_name = "N",
		.min = 1,
		.max = 1000000,
		.help = "How many machines the job has. Else from SM_TRAINING_ENV or SLURM_JOB_NUM_NODES, or counted by the hosts that send."},
	{.name = "continues", .kind = OPTION_TEXT, .value_name = "JOB", .help = "The job that this one goes on with."},
	{.name = "resume",
		.kind = OPTION_FLAG,
		.help = "Write to the job even when it has ended; else it becomes NAME-2."},
	{.name = "on",
		.kind = OPTION_TEXT,
		.is_list = true,
		.value_name = "COMMAND=SIGNAL",
		.help = "What COMMAND's process gets when the server says so: checkpoint=USR1, stop=TERM. Without it nothing is done."},
	{.name = "on-restart",
		.kind = OPTION_TEXT,
		.value_name = "COMMAND",
		.help = "When the training has failed and the server says that a restart is due: run this by /bin/sh, in the process of rank 0. "
			"It gets the server's document (last checkpoint, machines to drain, settings) as JSON on standard input, and SMFLEET_RESTART_JOB, "
			"_STEP, _CHECKPOINT, _DRAINED, _EXIT and _FAILURES. Nothing is started otherwise."},
	{.name = "restart-limit",
		.kind = OPTION_I64,
		.value_name = "N",
		.fallback = "3",
		.min = 1,
		.max = 1000000,
		.help = "How often --on-restart is run in a row without a checkpoint of a higher step in between."},
	{.name = "restart-delay",
		.kind = OPTION_DURATION,
		.value_name = "TIME",
		.fallback = "30s",
		.min = 0,
		.max = 3600 * 1000,
		.help = "How long to wait before --on-restart, doubled with each failure in a row (an hour at most); then it is asked again "
			"whether the restart is due."},
	{.name = "follow",
		.kind = OPTION_FLAG,
		.heading = "How it is read and sent",
		.help = "Wait for more lines at the end of each FILE, until a signal comes: through rotation and truncation, "
			"and for new files that fit a glob in quotes ('logs/*.log')."},
	{.name = "import",
		.kind = OPTION_TEXT,
		.value_name = "PATTERN",
		.help = "Send old logs: 'DIR/(?<job>[^/]+)/(?<stream>.+)[.]out' is a folder and a regular expression over the paths "
			"below it, whose groups name job, stream and host; TensorBoard's event files, and tables of runs by W&B or MLflow (CSV), are "
			"points, and runs that a table names are jobs of their names. Lines without a time have that of the line before "
			"them; the first ones that of the first line that has one, or the file's. Start it again, and it goes on where it stood."},
	{.name = "import-mlflow",
		.kind = OPTION_TEXT,
		.value_name = "PLACE",
		.help = "Move in from MLflow: its folder of runs (mlruns), its database (mlflow.db), or the address of its server. Its runs become jobs with their ids, users, times, params, tags and "
			"all points. Start it again, and it goes on where it stood; what is not moved is listed."},
	{.name = "trace",
		.kind = OPTION_TEXT,
		.is_list = true,
		.value_name = "PATH",
		.help = "Sum up a trace of PyTorch's profiler, or all of a folder (*.pt.trace.json, with .gz or without): how long the GPU computed, "
			"communicated and idled, and what of the communication nothing ran beside. The sums go to --job and --stream, the trace "
			"stays where it is. Sent again, they replace. With --follow, traces that come later, too."},
	{.name = "checkpoint",
		.kind = OPTION_TEXT,
		.value_name = "STEP|PATH",
		.help = "Which checkpoint FILEs are about that an evaluation wrote (results of lm-evaluation-harness, or scores as JSON), where they "
			"do not say it."},
	{.name = "row-bytes",
		.kind = OPTION_BYTES,
		.value_name = "SIZE",
		.fallback = "16MiB",
		.min = 1024,
		.max = 1 << 30,
		.help = "The longest row of a table of runs (CSV of W&B or MLflow) that --import reads."},
	{.name = "system",
		.kind = OPTION_FLAG,
		.help = "Measure this machine too, one process a host: processor, memory, disk, network, GPUs by nvidia-smi, Neuron "
			"devices by neuron-monitor, and the kernel's faults (Xid, ECC, out of memory, links), as the stream "
			"system/HOST."},
	{.name = "system-interval",
		.kind = OPTION_DURATION,
		.value_name = "TIME",
		.fallback = "10s",
		.min = 100,
		.max = 86400000,
		.help = "How often."},
	{.name = "proc",
		.kind = OPTION_TEXT,
		.value_name = "DIR",
		.fallback = "/proc",
		.help = "Where the machine's /proc is: a container may have it elsewhere than its own."},
	{.name = "kmsg",
		.kind = OPTION_TEXT,
		.value_name = "FILE",
		.fallback = "/dev/kmsg",
		.help = "Where the kernel's lines are."},
	{.name = "send-rest",
		.kind = OPTION_FLAG,
		.help = "Send what earlier ones have left in --spool for --server, because they were killed or the server was away: lines, how the "
			"command ended, what the training told its tracker. Each arrives once, and bears the time when it was read; "
			"a job whose end nobody has seen keeps its status."},
	{.name = "spool",
		.kind = OPTION_TEXT,
		.value_name = "DIR",
		.help = "Where lines wait for the server. [$XDG_STATE_HOME or /tmp]"},
	{.name = "spool-bytes",
		.kind = OPTION_BYTES,
		.value_name = "SIZE",
		.fallback = "1GiB",
		.help = "How much may wait; when it is full the oldest lines are kept and new ones are dropped and counted. The last "
			"16 MiB of the disk of --spool are never taken."},
	{.name = "no-relay",
		.kind = OPTION_FLAG,
		.help = "Leave COMMAND's clients of MLflow and W&B alone. Else their variables name an address of sm-ship on this machine, which "
			"answers while the server is away, unless COMMAND has such a tracker of its own already."},
	{.name = "relay-bytes",
		.kind = OPTION_BYTES,
		.value_name = "SIZE",
		.fallback = "16MiB",
		.min = 1024,
		.max = 16 << 20,
		.help = "The largest request of COMMAND's clients of MLflow and W&B that is taken."},
	{.name = "compare-points",
		.kind = OPTION_I64,
		.value_name = "N",
		.fallback = "5000000",
		.min = 0,
		.max = 1000 * 1000 * 1000,
		.help = "How many points that the server has are held at once, 40 bytes each, to be compared with those of files. Of a "
			"series for which there is no more room, and of one with more than 500,000, the number alone counts."},
	{.name = "drain-timeout",
		.kind = OPTION_DURATION,
		.value_name = "TIME",
		.fallback = "60s",
		.help = "How long to go on trying when the input has ended."},
	{.name = "quiet",
		.kind = OPTION_FLAG,
		.help = "Print no progress, and at the end no line about a log in which no metric was found. Errors are still said."},
	{.name = NULL},
};

const struct option_program ship_program = {
	.name = "sm-ship",
	.version = SM_VERSION,
	.about =
		"Sends the lines of a training to an smfleet server while it runs: standard input (passed through to standard "
		"output), files, or the output of a command.",
	.usage =
		"[OPTION]... < INPUT\n[OPTION]... FILE...\n[OPTION]... --import PATTERN\n[OPTION]... --import-mlflow PLACE\n[OPTION]... --trace PATH\n[OPTION]... --send-rest\n[OPTION]... -- COMMAND [ARGUMENT]...",
	.notes =
		"Exit status: 0 done, 2 usage, 3 server unreachable, 4 refused by the server, or a file held nothing to send; with COMMAND, COMMAND's own, or "
		"128 + N when signal N ended it.\n"
		"FILEs that an evaluation wrote (results of lm-evaluation-harness, or {\"step\", \"scores\": {\"TASK/METRIC\": 0.5}}) are sent as scores of a "
		"checkpoint of --job.\n"
		"FILEs of a job that is named (--job, or by a scheduler) go on where a killed sm-ship stood when the same command is "
		"started again: each line arrives once.",
	.options = specs,
	.takes_words = true,
	.takes_command = true,
};

const char *ship_spool_folder(const struct options *options, char *const *environment)
{
	const char *state_home = environment_find(environment, "XDG_STATE_HOME");
	const char *given = options_text(options, "spool");

	return given ? given : state_home && *state_home ? state_home : "/tmp";
}

void ship_seed_sessions(const char *folder, char seed[SHIP_SEED_BYTES])
{
	struct stat info = {0};

	seed[0] = 0;
	(void)mkdir(folder, 0700);
	if (stat(folder, &info) == 0)
		snprintf(seed, SHIP_SEED_BYTES, "%s %llu %llu", folder, (unsigned long long)info.st_dev,
			(unsigned long long)info.st_ino);
}

enum status ship_find_identity(
	struct identity **out, const struct options *options, char *const *environment, struct error *err)
{
	char folder[PATH_MAX] = "", host[256] = "localhost";
	time_t now = (time_t)(clock_wall_ms() / 1000);
	struct identity_input input = {.environment = environment,
		.command = options_command(options),
		.file = options_word(options, 0),
		.job = options_text(options, "job"),
		.stream = options_text(options, "stream"),
		.host = options_text(options, "host"),
		.instance_type = options_text(options, "instance-type"),
		.instance_count = options_i64(options, "instance-count")};

	if (getcwd(folder, sizeof folder))
		input.folder = folder;
	if (gethostname(host, sizeof host - 1) == 0)
		input.host_name = host;
	input.host_name = host;
	localtime_r(&now, &input.now);
	return identity_new(out, &input, err);
}
