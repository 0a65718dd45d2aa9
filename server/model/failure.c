#include "model/failure.h"

#include <stddef.h>
#include <strings.h>

#define ALGORITHM "AlgorithmError" /* the program that trains */
#define CLIENT "ClientError" /* what the job was given: rights, paths, images */
#define INTERNAL "InternalServerError" /* machines, network, the platform: the same job may do well elsewhere */
#define CAPACITY "CapacityError" /* no machines */

/* The first that fits counts. `^` : at the beginning. In any case of letters. */
static const struct {
	const char *words;
	const char *class;
} rules[] = {
	{"^AlgorithmError", ALGORITHM},
	{"^ClientError", CLIENT},
	{"^InternalServerError", INTERNAL},
	{"^CapacityError", CAPACITY},
	{"^ResourceLimitExceeded", CAPACITY},

	{"insufficient capacity", CAPACITY},
	{"InsufficientCapacity", CAPACITY},
	{"unable to provision requested", CAPACITY},
	{"is temporarily unavailable", CAPACITY},

	{"fallen off the bus", INTERNAL},
	{"NVRM: Xid", INTERNAL},
	{"uncorrectable ECC", INTERNAL},
	{"NODE_FAIL", INTERNAL},
	{"node failure", INTERNAL},
	{"instance was unhealthy", INTERNAL},
	{"internal error", INTERNAL},
	{"connection closed by remote peer", INTERNAL},
	{"no space left on device", INTERNAL},

	{"AccessDenied", CLIENT},
	{"access denied", CLIENT},
	{"NoSuchBucket", CLIENT},
	{"NoSuchKey", CLIENT},
	{"CannotPullContainer", CLIENT},
	{"manifest unknown", CLIENT},
	{"command not found", CLIENT},
	{"no such file or directory", CLIENT},

	{"ExecuteUserScriptError", ALGORITHM},
	{"out of memory", ALGORITHM},
	{"OOM", ALGORITHM},
	{"exit code", ALGORITHM},
	{"exit status", ALGORITHM},
	{"signal", ALGORITHM},
	{"traceback", ALGORITHM},
	{"collective operation timeout", ALGORITHM},
	{"error:", ALGORITHM},
};

static bool holds(struct span text, const char *words)
{
	size_t len = strlen(words);
	bool is_start = words[0] == '^';

	words += is_start;
	len -= is_start;
	for (size_t i = 0; i + len <= text.len && (i == 0 || !is_start); i++)
		if (strncasecmp(text.ptr + i, words, len) == 0)
			return true;
	return false;
}

const char *failure_class(struct span reason)
{
	if (!span_trim(reason).len)
		return NULL;
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (holds(span_trim(reason), rules[i].words))
			return rules[i].class;
	return "Unknown";
}
