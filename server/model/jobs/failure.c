#include "model/jobs/failure.h"

#include <ctype.h>
#include <stddef.h>
#include <strings.h>

#define ALGORITHM "AlgorithmError" /* the program that trains */
#define CLIENT "ClientError" /* what the job was given: rights, paths, images */
#define INTERNAL "InternalServerError" /* machines, network, the platform: the same job may do well elsewhere */
#define CAPACITY "CapacityError" /* no machines */

/*
 * The first that fits counts. `^`: at the beginning; `*`: also at the end of a word, as in OSError. In any case of letters; words are
 * whole ones, of several, or parts of a name in its humps: OOMKilled, but not room.
 */
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
	{"node failed", INTERNAL},
	{"node failure", INTERNAL},
	{"NODE_FAILED", INTERNAL},
	{"NODE_FAILURE", INTERNAL},
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
	{"*error:", ALGORITHM},
};

static bool is_letter(struct span text, size_t at)
{
	return at < text.len && isalpha((unsigned char)text.ptr[at]);
}

/* No letter is before it, or it begins a hump. */
static bool begins_word(struct span text, size_t at)
{
	return at == 0 || !is_letter(text, at - 1) || !is_letter(text, at) ||
	       (islower((unsigned char)text.ptr[at - 1]) && isupper((unsigned char)text.ptr[at]));
}

/* At its end, behind its plural too. */
static bool ends_word(struct span text, size_t end)
{
	size_t at = end < text.len && text.ptr[end] == 's' ? end + 1 : end;

	return !is_letter(text, end - 1) || !is_letter(text, at) || isupper((unsigned char)text.ptr[end]);
}

static bool holds(struct span text, const char *words)
{
	bool is_start = words[0] == '^', is_part = words[0] == '*';

	words += is_start || is_part;
	size_t len = strlen(words);
	for (size_t i = 0; i + len <= text.len && (i == 0 || !is_start); i++)
		if (strncasecmp(text.ptr + i, words, len) == 0 && (is_part || begins_word(text, i)) &&
			ends_word(text, i + len))
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
