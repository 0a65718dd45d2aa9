/* The command line of sm-search. */
#include "cli/http/client.h"
#include "cli/search/search_options.h"

static const struct option_spec specs[] = {
	CLIENT_OPTIONS,
	{.name = "sort",
		.kind = OPTION_TEXT,
		.value_name = "FIELD",
		.heading = "What is searched",
		.help = "Order of the jobs, such as loss or -started; - puts the largest first."},
	{.name = "sagemaker-json",
		.kind = OPTION_TEXT,
		.value_name = "FILE",
		.help = "SageMaker's Search request, or its SearchExpression alone, instead of a query; - is standard input."},
	{.name = "timezone",
		.kind = OPTION_TEXT,
		.value_name = "ZONE",
		.help = "Zone of times that name none, as today or 2026-01-31: Europe/Berlin, UTC. Default: the server's."},
	{.name = "runs",
		.kind = OPTION_FLAG,
		.help = "Of jobs that go on with each other only the last one: a row a run."},
	{.name = "limit",
		.kind = OPTION_I64,
		.value_name = "N",
		.fallback = "50",
		.help = "At most so many jobs, attachments or deleted jobs; 0: all."},
	{.name = "trash",
		.kind = OPTION_FLAG,
		.help = "The jobs in the trash instead: by whom and when each was deleted, and when it goes for good."},
	{.name = "fields",
		.kind = OPTION_TEXT,
		.value_name = "A,B",
		.heading = "What is printed",
		.help = "What to print of each job: names of the query language, such as loss.min, hp.lr, tag.team. "
			"[name,status,loss,step,lines,started,age]"},
	{.name = "table", .kind = OPTION_FLAG, .help = "An aligned table; what a terminal gets."},
	{.name = "csv", .kind = OPTION_FLAG, .help = "Comma-separated values; what a pipe or file gets."},
	{.name = "json", .kind = OPTION_FLAG, .help = "One JSON document with all jobs."},
	{.name = "ndjson", .kind = OPTION_FLAG, .help = "One JSON object a job and line."},
	{.name = "count", .kind = OPTION_FLAG, .help = "Only how many jobs match."},
	{.name = "by",
		.kind = OPTION_TEXT,
		.value_name = "A,B",
		.help = "Groups of the jobs instead of the jobs, such as tag.team,month or node."},
	{.name = "of",
		.kind = OPTION_TEXT,
		.value_name = "A,B",
		.help = "What to say of each group, such as count,sum:node_hours,p95:loss.final. [count]"},
	{.name = "compare",
		.kind = OPTION_FLAG,
		.help = "The words are names of jobs: what differs between them, a column a job."},
	{.name = "logs",
		.kind = OPTION_TEXT,
		.value_name = "REGEX",
		.help = "Lines of the logs of these jobs that match: job/stream:number: text; with --ndjson as objects."},
	{.name = "watch",
		.kind = OPTION_FLAG,
		.help = "Ask every two seconds: a terminal gets the table again, a pipe the rows that changed, as NDJSON."},
	{.name = "explain", .kind = OPTION_FLAG, .help = "How the query is understood and answered, without its jobs."},
	{.name = "completion",
		.kind = OPTION_TEXT,
		.value_name = "SHELL",
		.heading = "Shells",
		.help = "Print what bash or zsh need to complete options and queries: source <(sm-search --completion bash)"},
	{.name = "suggest", .kind = OPTION_TEXT, .value_name = "TEXT", .help = "How a query that begins so may go on."},
	{.name = NULL},
};

const struct option_program search_program = {
	.name = "sm-search",
	.version = SM_VERSION,
	.about = "Searches the jobs of an smfleet server: sm-search 'status:failed loss.last>3 started>-7d'",
	.usage =
		"[OPTION]... ['QUERY' | - | mcp | attachments JOB [PATH] | evaluations SCORE ['QUERY'] | SUBJECT JOB | node HOST]",
	.notes =
		"attachments JOB: the small files of a job; with PATH this one goes to standard output. "
		"evaluations SCORE: the best checkpoints of jobs by a score, TASK/METRIC, or by several, TASK/METRIC:WEIGHT,…; --by run or "
		"checkpoint. SUBJECT JOB: what is worked out of one job, a row a value: anatomy, checkpoints, continuity, fit, goodput, nccl, notes, "
		"replacements, s3, schedule, tokens. node HOST: the same of a machine, its jobs, faults and forecast. mcp: the Model Context Protocol on standard input and output, for agents. "
		"QUERY - is read from standard input. Server and token may stand in ~/.config/smfleet/profile (mode 600), as lines "
		"`server = URL` and `token = TOKEN`.\n"
		"Exit status: 0 done, 1 nothing matched, 2 usage or a query with a mistake, 3 server unreachable, 4 refused by the "
		"server.",
	.options = specs,
	.takes_words = true,
};

enum status search_options_refuse(const struct options *options, const char *with, struct error *err)
{
	static const char *const texts[] = {"sort", "fields", "logs", "sagemaker-json"};
	static const char *const flags[] = {"watch", "explain", "count", "runs", "compare"};
	const char *other = NULL;

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		other = options_text(options, texts[i]) ? texts[i] : other;
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		other = options_flag(options, flags[i]) ? flags[i] : other;
	return other ? error_set(err, ERR_INVALID, "--%s is of jobs: not with %s", other, with) : OK;
}
