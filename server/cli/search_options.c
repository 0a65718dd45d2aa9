/* The command line of sm-search. */
#include "cli/client.h"
#include "cli/search.h"

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
	{.name = "limit",
		.kind = OPTION_I64,
		.value_name = "N",
		.fallback = "50",
		.help = "At most so many jobs; 0: all."},
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
	.usage = "[OPTION]... ['QUERY' | -]",
	.notes =
		"QUERY - is read from standard input. Server and token may stand in ~/.config/smfleet/profile (mode 600), as lines "
		"`server = URL` and `token = TOKEN`.\n"
		"Exit status: 0 done, 1 nothing matched, 2 usage or a query with a mistake, 3 server unreachable, 4 refused by the "
		"server.",
	.options = specs,
	.takes_words = true,
};
