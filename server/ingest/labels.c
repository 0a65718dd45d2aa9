#include "ingest/labels.h"

#include "extract/line/kernel_record.h"
#include "ingest/ndjson_scan.h"

#include <stdio.h>

enum { NAMES_MAX = 32, NAME_MAX_BYTES = 96, NOT_FOUND = NAMES_MAX };

struct name {
	char text[NAME_MAX_BYTES]; /* folded */
	size_t len;
	bool is_qualified; /* may have a prefix */
};

struct list {
	struct name names[NAMES_MAX];
	unsigned count;
	unsigned index_rank; /* of "index"; NOT_FOUND */
};

struct ingest_labels {
	struct list roles[LABEL_ROLES];
	struct list indices; /* by enum label_index */
};

static const char *const option_names[LABEL_ROLES] = {
	"--job-labels", "--stream-labels", "--host-labels", "--team-labels"};
static const char index_names[] = "batch.kubernetes.io/job-completion-index,training.kubeflow.org/replica-index,"
				  "training.kubeflow.org/replica-type,jobset.sigs.k8s.io/replicatedjob-name,"
				  "jobset.sigs.k8s.io/job-index";

static char fold(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (char)(c | 0x20);
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '_';
}

static enum status read_list(struct list *list, const char *option, const char *text, struct error *err)
{
	struct span rest = span_from(text), part;

	list->index_rank = NOT_FOUND;
	while (span_next(&rest, ',', &part)) {
		part = span_trim(part);
		if (!part.len || part.len > NAME_MAX_BYTES || list->count == NAMES_MAX)
			return error_set_field(err, ERR_INVALID, option,
				"%s takes 1 to %d names of 1 to %d bytes, separated by commas", option, NAMES_MAX,
				NAME_MAX_BYTES);
		if (span_equal(part, SPAN("index")))
			list->index_rank = list->count;
		struct name *name = &list->names[list->count++];
		name->len = part.len;
		for (size_t i = 0; i < part.len; i++) {
			name->text[i] = fold(part.ptr[i]);
			name->is_qualified = name->is_qualified || part.ptr[i] == '/' || part.ptr[i] == '.';
		}
	}
	return OK;
}

enum status ingest_labels_new(struct ingest_labels **out, const char *const lists[LABEL_ROLES], struct error *err)
{
	AUTO(ingest_labels) labels = mem_zeroed(sizeof *labels);

	if (!labels)
		return error_no_memory(err);
	for (int i = 0; i < LABEL_ROLES; i++)
		if (i != LABEL_TEAM || lists[i][0])
			TRY(read_list(&labels->roles[i], option_names[i], lists[i], err));
	TRY(read_list(&labels->indices, "", index_names, err));
	*out = TAKE(labels);
	return OK;
}

void ingest_labels_free(struct ingest_labels *labels)
{
	mem_free(labels);
}

static bool is_name(const struct name *name, struct span label)
{
	size_t before = label.len - name->len;

	if (label.len < name->len || (before && !name->is_qualified))
		return false;
	if (before && fold(label.ptr[before - 1]) != '_')
		return false;
	for (size_t i = name->len; i-- > 0;) /* from the end: heads are alike */
		if (fold(label.ptr[before + i]) != name->text[i])
			return false;
	return true;
}

static unsigned rank_of(const struct list *list, struct span label, unsigned below)
{
	for (unsigned i = 0; i < below && i < list->count; i++)
		if (is_name(&list->names[i], label))
			return i;
	return NOT_FOUND;
}

void label_set_init(struct label_set *set, const struct ingest_labels *labels, size_t max_value_bytes)
{
	set->labels = labels;
	for (int i = 0; i < LABEL_ROLES; i++) {
		set->ranks[i] = NOT_FOUND;
		set->values[i] = BUF_INIT(max_value_bytes);
	}
	for (int i = 0; i < LABEL_INDICES; i++)
		set->indices[i] = BUF_INIT(max_value_bytes);
}

void label_set_done(struct label_set *set)
{
	for (int i = 0; i < LABEL_ROLES; i++)
		buf_done(&set->values[i]);
	for (int i = 0; i < LABEL_INDICES; i++)
		buf_done(&set->indices[i]);
}

void label_set_reset(struct label_set *set)
{
	for (int i = 0; i < LABEL_ROLES; i++) {
		set->ranks[i] = NOT_FOUND;
		buf_reset(&set->values[i]);
	}
	for (int i = 0; i < LABEL_INDICES; i++)
		buf_reset(&set->indices[i]);
	set->is_kernels = false;
}

/* A value that is too long for a name is kept as far as there is room: it is refused as a name where it is used. */
static void keep(struct buf *buf, struct span value)
{
	buf_reset(buf);
	buf_append(buf, value.ptr, value.len < buf->max_bytes ? value.len : buf->max_bytes);
}

/* Which output of a container it was, and what an SDK says that was told nothing: no names. */
static bool says_nothing(enum label_role role, struct span value)
{
	if (role == LABEL_STREAM)
		return span_equal(value, SPAN("stdout")) || span_equal(value, SPAN("stderr"));
	return role == LABEL_JOB && span_starts_with(value, SPAN("unknown_service"));
}

void label_set_add(struct label_set *set, struct span name, struct span value)
{
	if (!value.len)
		return;
	for (int role = 0; role < LABEL_ROLES; role++) {
		unsigned rank = rank_of(&set->labels->roles[role], name, set->ranks[role]);
		if (rank == NOT_FOUND || says_nothing((enum label_role)role, value))
			continue;
		set->ranks[role] = rank;
		keep(&set->values[role], value);
	}
	set->is_kernels |= span_equal(value, SPAN("kernel")) && kernel_record_names_program(name);
	unsigned index = rank_of(&set->labels->indices, name, LABEL_INDICES);
	if (index != NOT_FOUND)
		keep(&set->indices[index], value);
}

/* worker-3 of Kubeflow, workers-0-3 of a JobSet, algo-4 of a plain indexed Job: the same pod after each restart. */
static void name_by_index(struct label_set *set)
{
	struct buf *indices = set->indices, *stream = &set->values[LABEL_STREAM];
	struct span number = buf_span(&indices[LABEL_COMPLETION_INDEX]);
	unsigned rank = set->labels->roles[LABEL_STREAM].index_rank;
	int64_t index;

	if (!number.len)
		number = buf_span(&indices[LABEL_REPLICA_INDEX]);
	if (rank >= set->ranks[LABEL_STREAM] || !number.len)
		return;
	set->ranks[LABEL_STREAM] = rank;
	buf_reset(stream);
	if (indices[LABEL_JOBSET_PART].len) {
		buf_append_span(stream, buf_span(&indices[LABEL_JOBSET_PART]));
		buf_append_char(stream, '-');
		if (indices[LABEL_JOBSET_INDEX].len) {
			buf_append_span(stream, buf_span(&indices[LABEL_JOBSET_INDEX]));
			buf_append_char(stream, '-');
		}
		buf_append_span(stream, number);
	} else if (indices[LABEL_REPLICA_TYPE].len) {
		buf_append_span(stream, buf_span(&indices[LABEL_REPLICA_TYPE]));
		buf_append_char(stream, '-');
		buf_append_span(stream, number);
	} else if (span_parse_i64(number, &index) && index >= 0 && index < INT64_MAX) {
		buf_printf(stream, "algo-%lld", (long long)index + 1);
	} else {
		buf_append_span(stream, number);
	}
}

bool label_set_is_better(const struct label_set *set, enum label_role role, struct span name, unsigned *rank)
{
	unsigned found = rank_of(&set->labels->roles[role], name, *rank);

	if (found == NOT_FOUND)
		return false;
	*rank = found;
	return true;
}

/* Without it lines would go to a stream that they are not of, or be refused for a label that they have. */
enum status label_set_finish(struct label_set *set, struct error *err)
{
	bool is_whole = true;

	name_by_index(set);
	for (int role = 0; role < LABEL_ROLES; role++)
		is_whole = is_whole && set->values[role].failure != ERR_MEMORY;
	for (int index = 0; index < LABEL_INDICES; index++)
		is_whole = is_whole && set->indices[index].failure != ERR_MEMORY;
	return is_whole ? OK : error_no_memory(err);
}

struct span label_set_value(const struct label_set *set, enum label_role role)
{
	return buf_span(&set->values[role]);
}

/* ---- {name="value", …}, as Go's %q writes it ---- */

static void skip_blanks(struct span *rest)
{
	while (rest->len && (rest->ptr[0] == ' ' || rest->ptr[0] == ','))
		*rest = span_skip(*rest, 1);
}

static bool take_quoted(struct span *rest, struct span *value, bool *has_escapes)
{
	size_t at = 1;

	*has_escapes = false;
	if (!rest->len || rest->ptr[0] != '"')
		return false;
	for (; at < rest->len && rest->ptr[at] != '"'; at++)
		if (rest->ptr[at] == '\\') {
			*has_escapes = true;
			at++;
		}
	if (at >= rest->len)
		return false;
	*value = span_of(rest->ptr + 1, at - 1);
	*rest = span_skip(*rest, at + 1);
	return true;
}

static bool take_label(struct span *rest, struct label_set *set, struct buf *scratch)
{
	ptrdiff_t equals = span_find_char(*rest, '=');
	struct span value;
	bool has_escapes;
	size_t column;

	if (equals <= 0)
		return false;
	struct span name = span_trim(span_of(rest->ptr, (size_t)equals));
	*rest = span_trim(span_skip(*rest, (size_t)equals + 1));
	if (!take_quoted(rest, &value, &has_escapes))
		return false;
	if (has_escapes) {
		buf_reset(scratch);
		if (ndjson_decode(value, scratch, &column)) /* Go knows some more, as \x1b: those stay as they are */
			value = buf_span(scratch);
	}
	label_set_add(set, name, value);
	return true;
}

enum status ingest_labels_parse(struct span text, struct label_set *set, struct buf *scratch, struct error *err)
{
	struct span rest = span_trim(text);

	label_set_reset(set);
	bool is_open = rest.len >= 2 && rest.ptr[0] == '{' && rest.ptr[rest.len - 1] == '}';
	if (is_open)
		rest = span_of(rest.ptr + 1, rest.len - 2);
	for (skip_blanks(&rest); is_open && rest.len; skip_blanks(&rest))
		is_open = take_label(&rest, set, scratch);
	if (!is_open)
		return error_set_field(err, ERR_INVALID, "labels",
			"labels '%.*s': expected {name=\"value\", …} at byte %zu",
			(int)(text.len < 120 ? text.len : 120), text.ptr,
			rest.ptr >= text.ptr && text.len ? (size_t)(rest.ptr - text.ptr) + 1 : 1);
	TRY(label_set_finish(set, err));
	return buf_status(scratch, err);
}
