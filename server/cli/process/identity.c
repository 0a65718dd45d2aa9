#include "cli/process/identity.h"

#include "base/arena.h"
#include "base/json/json_read.h"
#include "base/options/options.h"
#include "cli/process/command_line.h"

#include <stdio.h>

enum { MAX_NAME_BYTES = 255, MAX_TEXT_BYTES = 16 << 10, MAX_DOCUMENT_BYTES = 1 << 20 };

void identity_free(struct identity *identity)
{
	if (!identity)
		return;
	mem_free(identity->hyper_parameters.items);
	mem_free(identity->tags.items);
	arena_free(identity->arena);
	mem_free(identity);
}

static const char *keep(struct identity *identity, struct span text)
{
	char *copy = arena_alloc(identity->arena, text.len + 1);

	if (!copy)
		return NULL;
	if (text.len)
		memcpy(copy, text.ptr, text.len);
	copy[text.len] = 0;
	return copy;
}

static enum status set_setting(
	struct identity *identity, struct settings *settings, struct span key, struct span value, struct error *err)
{
	const char *kept_key = keep(identity, key), *kept_value = keep(identity, value);

	if (!kept_key || !kept_value ||
		!mem_grow((void **)&settings->items, settings->count, &settings->cap, sizeof *settings->items))
		return error_no_memory(err);
	for (size_t i = 0; i < settings->count; i++) {
		if (strcmp(settings->items[i].key, kept_key) == 0) {
			settings->items[i].value = kept_value;
			return OK;
		}
	}
	settings->items[settings->count++] = (struct setting){kept_key, kept_value};
	return OK;
}

enum status identity_add_setting(
	struct identity *identity, struct settings *settings, const char *option, const char *text, struct error *err)
{
	ptrdiff_t equals = span_find_char(span_from(text), '=');

	if (equals <= 0)
		return error_set_field(
			err, ERR_INVALID, option, "--%s '%s' is not of the form NAME=VALUE", option, text);
	return set_setting(identity, settings, span_of(text, (size_t)equals), span_from(text + equals + 1), err);
}

/* The first of the variables that is set and not empty. */
static const char *first_set(char *const *environment, const char *const *names)
{
	for (; *names; names++) {
		const char *value = environment_find(environment, *names);
		if (value && *value)
			return value;
	}
	return NULL;
}

static bool first_number(char *const *environment, const char *const *names, int64_t *number)
{
	const char *text = first_set(environment, names);

	return text && span_parse_i64(span_from(text), number) && *number >= 0;
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* A text of SageMaker's document of the container, or NULL. */
static const char *training_environment(struct identity *identity, char *const *environment, const char *key)
{
	const char *text = environment_find(environment, "SM_TRAINING_ENV");
	AUTO(json) document = NULL;

	if (!text || json_parse(&document, span_from(text), NULL) != OK)
		return NULL;
	struct span value = json_string_of(json_get(document, key));
	return value.len ? keep(identity, value) : NULL;
}

static struct span base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return span_from(slash ? slash + 1 : path);
}

/* <script>-<yyyymmdd-hhmmss>; a pipe has no script, so it is named after the folder, a file after itself. */
static const char *name_by_script(struct identity *identity, const struct identity_input *input)
{
	char text[MAX_NAME_BYTES + 1], when[32];
	struct span script = input->file ? base_name(input->file) : base_name(input->folder ? input->folder : "");

	if (input->command)
		command_find_script(input->command, &script);
	if (script.len == 0)
		script = SPAN("job");
	if (script.len > 200)
		script.len = 200;
	strftime(when, sizeof when, "%Y%m%d-%H%M%S", &input->now);
	snprintf(text, sizeof text, "%.*s-%s", SPAN_ARGS(script), when);
	return keep(identity, span_from(text));
}

static const char *choose_job(struct identity *identity, const struct identity_input *input)
{
	char *const *environment = input->environment;
	const char *given = input->job ? input->job : training_environment(identity, environment, "job_name");
	const char *slurm_name = first_set(environment, NAMES("SLURM_JOB_NAME"));
	const char *slurm_id = first_set(environment, NAMES("SLURM_JOB_ID"));
	char text[MAX_NAME_BYTES + 1];

	if (!given)
		given = first_set(environment, NAMES("TRAINING_JOB_NAME"));
	if (!given && slurm_id) {
		snprintf(text, sizeof text, "%.220s-%.30s", slurm_name ? slurm_name : "slurm", slurm_id);
		return keep(identity, span_from(text));
	}
	if (!given)
		given = first_set(environment, NAMES("JOB_NAME"));
	identity->is_named_by_time = !given;
	return given ? keep(identity, span_from(given)) : name_by_script(identity, input);
}

/* Does this node run several processes of the job, and which of them is this? */
static bool find_local_rank(char *const *environment, int64_t *local_rank)
{
	int64_t size = 0;
	bool has_rank = first_number(environment,
		NAMES("LOCAL_RANK", "SLURM_LOCALID", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"), local_rank);

	/* SLURM_TASKS_PER_NODE is "4(x2)" or "4,2": what stands first is enough. */
	const char *tasks = first_set(environment, NAMES("SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"));
	for (const char *c = tasks; c && *c >= '0' && *c <= '9' && size < 100000; c++)
		size = size * 10 + (*c - '0');
	int64_t stated;
	if (first_number(environment,
		    NAMES("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_NTASKS_PER_NODE"),
		    &stated))
		size = stated;
	return has_rank && (size > 1 || *local_rank > 0);
}

static const char *choose_stream(struct identity *identity, const struct identity_input *input)
{
	const char *given = input->stream ? input->stream : first_set(input->environment, NAMES("SM_CURRENT_HOST"));
	int64_t node = 0, local_rank = 0;
	char text[64];

	if (given)
		return keep(identity, span_from(given));
	if (!first_number(input->environment,
		    NAMES("SLURM_NODEID", "JOB_COMPLETION_INDEX", "RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK"), &node))
		node = 0;
	snprintf(text, sizeof text, "algo-%lld", (long long)node + 1);
	if (find_local_rank(input->environment, &local_rank))
		snprintf(text, sizeof text, "algo-%lld-r%lld", (long long)node + 1, (long long)local_rank);
	return keep(identity, span_from(text));
}

/*
 * SageMaker sets no rank for the container, only names: algo-3 of algo-1, algo-2 ... is the third. algo-1-r5 is not the first, either;
 * which one algo-2-r3 is depends on how many the first machine runs.
 */
static bool read_rank_of_name(struct identity *identity, struct span name)
{
	struct span number;
	int64_t node, local_rank = 0;

	if (!span_take(&name, SPAN("algo-")) || !span_next(&name, '-', &number) || !span_parse_i64(number, &node) ||
		node < 1)
		return false;
	bool is_local = name.ptr;
	if (is_local && (!span_take(&name, SPAN("r")) || !span_parse_i64(name, &local_rank) || local_rank < 0))
		return false;
	identity->rank = node > 1 ? node - 1 : local_rank;
	identity->has_rank_number = node == 1 || !is_local;
	return true;
}

static enum status read_command(struct identity *identity, char *const *command, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(MAX_TEXT_BYTES);
	struct span script, key, value;
	size_t at = command_find_script(command, &script);

	while (command_next_option(command, &at, &key, &value))
		TRY(set_setting(identity, &identity->hyper_parameters, key, value, err));
	command_put_text(command, &text);
	if (text.failure == ERR_TOO_LARGE) {
		text.failure = OK; /* what fitted is enough to know it again */
		buf_reset(&text);
		buf_append_text(&text, command[0]);
		buf_append_text(&text, " …");
	}
	TRY(buf_status(&text, err));
	identity->command_line = keep(identity, buf_span(&text));
	return OK;
}

static const char *keep_first(struct identity *identity, char *const *environment, const char *const *names)
{
	const char *value = first_set(environment, names);

	return value ? keep(identity, span_from(value)) : NULL;
}

/* A hyperparameter of SageMaker's document is a text or any other JSON value. */
static enum status add_hyper_parameter(struct identity *identity, const struct json *entry, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(MAX_TEXT_BYTES);
	struct span value = json_string_of(entry);

	if (json_kind(entry) != JSON_STRING) {
		json_print(entry, &text);
		value = buf_span(&text);
	}
	return text.failure == OK ? set_setting(identity, &identity->hyper_parameters, json_key_of(entry), value, err)
				  : OK; /* longer than any setting */
}

/* What the SageMaker training toolkit says of the container: https://github.com/aws/sagemaker-training-toolkit */
static enum status read_training_environment(
	struct identity *identity, const struct identity_input *input, struct error *err)
{
	char *const *environment = input->environment;
	const char *text = environment_find(environment, "SM_TRAINING_ENV");
	AUTO(json) document = NULL;

	identity->instance_count = identity->said_count = input->instance_count;
	if (!text || json_parse(&document, span_from(text), NULL) != OK)
		return OK;
	const struct json *hosts = json_get(document, "hosts"), *settings = json_get(document, "hyperparameters");
	if (!input->instance_count && hosts && json_kind(hosts) == JSON_ARRAY && json_first(hosts))
		identity->instance_count = (int64_t)json_count(hosts);
	if (!settings || json_kind(settings) != JSON_OBJECT)
		return OK;
	for (const struct json *entry = json_first(settings); entry; entry = json_next(entry))
		TRY(add_hyper_parameter(identity, entry, err));
	return OK;
}

static void read_ranks(struct identity *identity, char *const *environment)
{
	const char *host = first_set(environment, NAMES("SM_CURRENT_HOST"));

	identity->has_rank_number = first_number(environment,
		NAMES("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "JOB_COMPLETION_INDEX"),
		&identity->rank);
	identity->has_rank = identity->has_rank_number || (host && read_rank_of_name(identity, span_from(host))) ||
			     read_rank_of_name(identity, span_from(identity->stream));
	if (!find_local_rank(environment, &identity->local_rank))
		identity->local_rank = 0;
	if (!first_number(environment, NAMES("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE"),
		    &identity->process_count))
		identity->process_count =
			identity->rank < identity->instance_count ? identity->instance_count : identity->rank + 1;
}

/* All processes of one start share it, and another start has another: what they call their job is then the same too. */
static void read_run_key(struct identity *identity, char *const *environment)
{
	const char *slurm = first_set(environment, NAMES("SLURM_JOB_ID"));
	const char *step = first_set(environment, NAMES("SLURM_STEP_ID"));
	const char *restart = first_set(environment, NAMES("SLURM_RESTART_COUNT"));
	/* of a pod's labels, which its manifest has to name: deploy/examples/kubernetes-jobset.yaml */
	const char *kubernetes = first_set(environment, NAMES("JOBSET_UID", "JOB_UID"));
	const char *again = first_set(environment, NAMES("JOBSET_RESTART_ATTEMPT"));
	const char *other = first_set(environment, NAMES("PMIX_NAMESPACE", "TORCHELASTIC_RUN_ID"));
	char text[MAX_NAME_BYTES + 1];

	if (slurm)
		snprintf(text, sizeof text, "slurm-%.60s.%.60s.%.60s", slurm, step ? step : "0",
			restart ? restart : "0");
	else if (kubernetes)
		snprintf(text, sizeof text, "kubernetes-%.100s.%.60s", kubernetes, again ? again : "0");
	else if (other && strcmp(other, "none") != 0) /* torchrun's, when none was given */
		snprintf(text, sizeof text, "%.200s", other);
	else
		return;
	identity->run_key = keep(identity, span_from(text));
}

static enum status fill_in(struct identity *identity, const struct identity_input *input, struct error *err)
{
	char *const *environment = input->environment;
	char commit[65];

	identity->job = choose_job(identity, input);
	identity->stream = choose_stream(identity, input);
	const char *host = input->host ? input->host : first_set(environment, NAMES("SLURMD_NODENAME", "NODE_NAME"));
	identity->host = keep(identity, span_from(host ? host : input->host_name));
	identity->owner = keep_first(identity, environment, NAMES("SLURM_JOB_USER", "USER"));
	identity->folder = input->folder ? keep(identity, span_from(input->folder)) : NULL;
	identity->instance_type = input->instance_type
					  ? keep(identity, span_from(input->instance_type))
					  : training_environment(identity, environment, "current_instance_type");
	identity->said_type = input->instance_type ? identity->instance_type : NULL;
	TRY(read_training_environment(identity, input, err));
	int64_t nodes;
	if (!input->instance_count && first_number(environment, NAMES("SLURM_JOB_NUM_NODES"), &nodes) && nodes > 0)
		identity->instance_count = nodes;
	if (!first_number(environment, NAMES("SLURM_RESTART_COUNT"), &identity->attempt))
		identity->attempt = -1;
	read_ranks(identity, environment);
	read_run_key(identity, environment);
	git_read_commit(input->folder ? input->folder : "", commit);
	if (commit[0])
		identity->git_commit = keep(identity, span_from(commit));
	if (!identity->job || !identity->stream || !identity->host)
		return error_no_memory(err);
	return input->command ? read_command(identity, input->command, err) : OK;
}

/* As the server has it: 1..255 bytes of UTF-8 without control characters. */
static enum status check_name(const char *option, const char *name, struct error *err)
{
	struct span text = span_from(name);
	bool has_control = false;

	for (size_t i = 0; i < text.len; i++)
		has_control |= (unsigned char)text.ptr[i] < 0x20 || text.ptr[i] == 0x7f;
	if (text.len == 0 || text.len > MAX_NAME_BYTES)
		return error_set_field(err, ERR_INVALID, option, "the name of the %s has %zu bytes, not 1 to %d",
			option, text.len, MAX_NAME_BYTES);
	if (has_control || !span_is_utf8(text))
		return error_set_field(err, ERR_INVALID, option,
			"the name of the %s holds control characters or is not UTF-8", option);
	return OK;
}

enum status identity_new(struct identity **out, const struct identity_input *input, struct error *err)
{
	AUTO(identity) identity = mem_zeroed(sizeof *identity);

	if (!identity)
		return error_no_memory(err);
	identity->arena = arena_new();
	if (!identity->arena)
		return error_no_memory(err);
	TRY(fill_in(identity, input, err));
	TRY(check_name("job", identity->job, err));
	TRY(check_name("stream", identity->stream, err));
	if (*identity->host) /* "": what was imported may be of any machine */
		TRY(check_name("host", identity->host, err));
	*out = TAKE(identity);
	return OK;
}

static void put_tag(struct json_writer *w, const char *key, const char *value)
{
	if (value && *value)
		json_put_text(w, key, value);
}

static void put_settings(struct json_writer *w, const struct settings *settings)
{
	for (size_t i = 0; i < settings->count; i++) {
		json_key_span(w, span_from(settings->items[i].key));
		json_text(w, settings->items[i].value);
	}
}

static void put_tags(struct json_writer *w, const struct identity *identity)
{
	char attempt[32] = "";

	if (identity->attempt >= 0)
		snprintf(attempt, sizeof attempt, "%lld", (long long)identity->attempt);
	json_key(w, "tags");
	json_object(w);
	put_tag(w, "owner", identity->owner);
	put_tag(w, "host", identity->host);
	put_tag(w, "git_commit", identity->git_commit);
	put_tag(w, "folder", identity->folder);
	put_tag(w, "command", identity->command_line);
	put_tag(w, "attempt", attempt);
	put_tag(w, "run_key", identity->run_key);
	put_settings(w, &identity->tags);
	json_object_end(w);
}

void identity_put_fields(
	const struct identity *identity, const char *host, const struct settings *metrics, struct json_writer *w)
{
	put_tag(w, "host", host);
	if (identity->instance_type)
		json_put_text(w, "instance_type", identity->instance_type);
	if (identity->instance_count) /* else it is counted by those who come */
		json_put_i64(w, "instance_count", identity->instance_count);
	json_key(w, "hp");
	json_object(w);
	put_settings(w, &identity->hyper_parameters);
	json_object_end(w);
	json_key(w, "metrics");
	json_object(w);
	put_settings(w, metrics);
	json_object_end(w);
	put_tags(w, identity);
}
