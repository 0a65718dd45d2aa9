/*
 * Job: who is this training? Name, stream, host, owner and settings from the schedulers' variables and the command line.
 * Ownership: new/free; all texts live as long as the identity. Threads: read-only once made.
 */
#pragma once

#include "base/alloc.h"
#include "base/buf.h"
#include "base/json/json_write.h"

#include <time.h>

struct setting {
	const char *key;
	const char *value;
};

struct settings {
	struct setting *items;
	size_t count, cap;
};

struct identity_input {
	char *const *environment;
	char *const *command; /* NULL: none */
	const char *file; /* the first FILE; NULL: none */
	const char *folder; /* the working directory */
	const char *host_name;
	struct tm now; /* local time */
	/* What was said by option; NULL: not. */
	const char *job, *stream, *host, *instance_type;
	int64_t instance_count; /* 0: not said */
};

struct identity {
	struct arena *arena;
	const char *job, *stream, *host;
	const char *owner, *folder, *command_line, *instance_type, *git_commit; /* NULL: unknown */
	bool is_named_by_time; /* no second start gives the same name */
	int64_t instance_count; /* 0: not known */
	const char *said_type; /* by option; NULL: not */
	int64_t said_count; /* by option; 0: not */
	int64_t attempt; /* -1: unknown */
	int64_t rank; /* 0: the first or the only one, as far as is known */
	bool has_rank; /* whether it is the first is known: by the launcher, or by the name of its stream */
	bool has_rank_number; /* and so is which one it is */
	int64_t local_rank; /* 0: the first or the only one of this machine */
	int64_t process_count; /* of the job, as far as is known */
	const char *run_key; /* the same in all processes of one start of the job; NULL: unknown */
	struct settings hyper_parameters, tags;
};

enum status identity_new(struct identity **out, const struct identity_input *input, struct error *err) MUST_CHECK;
void identity_free(struct identity *identity);

/* "KEY=VALUE"; replaces an earlier value. ERR_INVALID with the option's name as field. */
enum status identity_add_setting(struct identity *identity, struct settings *settings, const char *option,
	const char *text, struct error *err) MUST_CHECK;

/* Into the object for POST /api/v1/sessions: all but names; host: of the stream; metrics are NAME=REGEX. */
void identity_put_fields(
	const struct identity *identity, const char *host, const struct settings *metrics, struct json_writer *w);

/* The commit that .git says is checked out in the folder or above it; "" when there is none. */
void git_read_commit(const char *folder, char out[65]);

AUTO_TYPE(identity)
