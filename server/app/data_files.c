#include "app/data_files.h"

#include "base/arena.h"
#include "base/embedded.h"
#include "base/json/json_read.h"
#include "base/json/json_write.h"
#include "base/log.h"
#include "base/text_file.h"
#include "extract/line/signature.h"
#include "fleet/advice.h"
#include "fleet/price.h"
#include "model/incident.h"
#include "model/jobs/evaluation_reference.h"
#include "pipeline/goodput/goodput.h"
#include "state/jobs/devices.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

extern const struct embedded_file embedded_data[];

enum { FILE_BYTES = 4 << 20, MERGED_BYTES = 16 << 20 };

/* ---- one over the other ---- */

/* What an entry is called, by whichever of these it has. */
static struct span name_of(const struct json *entry)
{
	static const char *const names[] = {"name", "type", "model"};
	struct span name = SPAN("");

	for (size_t i = 0; i < sizeof names / sizeof *names && !name.len; i++)
		name = json_string_of(json_get(entry, names[i]));
	return name;
}

/* A model's scores by another number of examples are another entry. */
static bool is_same(const struct json *a, const struct json *b)
{
	double left = -1, right = -1;

	if (!json_number_of(json_get(a, "shots"), &left))
		left = -1;
	if (!json_number_of(json_get(b, "shots"), &right))
		right = -1;
	return name_of(a).len && span_equal(name_of(a), name_of(b)) && left == right;
}

static bool has_same(const struct json *list, const struct json *entry)
{
	for (const struct json *at = json_first(list); at; at = json_next(at))
		if (is_same(at, entry))
			return true;
	return false;
}

static void put(struct json_writer *w, const struct json *node, struct buf *text)
{
	buf_reset(text);
	json_print(node, text);
	json_raw(w, buf_span(text));
}

static void put_entries(struct json_writer *w, const struct json *list, const struct json *but, struct buf *text)
{
	for (const struct json *at = json_first(list); at; at = json_next(at))
		if (!has_same(but, at))
			put(w, at, text);
}

/* The file's behind those of the program; but of patterns the first that matches counts, and that is the file's. */
static void put_list(struct json_writer *w, const struct json *shipped, const struct json *own, struct buf *text)
{
	bool is_first = json_get(json_first(own), "pattern") != NULL;

	json_array(w);
	if (is_first)
		put_entries(w, own, NULL, text);
	put_entries(w, shipped, own, text);
	if (!is_first)
		put_entries(w, own, NULL, text);
	json_array_end(w);
}

static bool has_member(const struct json *object, struct span key)
{
	for (const struct json *at = json_first(object); at; at = json_next(at))
		if (span_equal(json_key_of(at), key))
			return true;
	return false;
}

/* Of entries under their names. */
static void put_named(struct json_writer *w, const struct json *shipped, const struct json *own, struct buf *text)
{
	json_object(w);
	for (const struct json *at = json_first(own); at; at = json_next(at)) {
		json_key_span(w, json_key_of(at));
		put(w, at, text);
	}
	for (const struct json *at = json_first(shipped); at; at = json_next(at)) {
		if (has_member(own, json_key_of(at)))
			continue;
		json_key_span(w, json_key_of(at));
		put(w, at, text);
	}
	json_object_end(w);
}

static bool has_named(const struct json *shipped)
{
	const struct json *first = json_kind(shipped) == JSON_OBJECT ? json_first(shipped) : NULL;

	return first && json_kind(first) == JSON_OBJECT;
}

static bool replaces(const struct json *own)
{
	const struct json *replace = json_get(own, "replace");

	return replace && json_kind(replace) == JSON_BOOL && json_is_true(replace);
}

/* Lists that the file has are its own alone, or are put over those of the program. */
static enum status merge(
	const struct json *shipped, const struct json *own, bool is_alone, struct buf *out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(MERGED_BYTES);
	struct json_writer w = json_writer_on(out);

	json_object(&w);
	for (const struct json *at = json_first(shipped); at; at = json_next(at)) {
		const struct json *mine = NULL;
		for (const struct json *one = json_first(own); one && !mine; one = json_next(one))
			if (span_equal(json_key_of(one), json_key_of(at)))
				mine = one;
		json_key_span(&w, json_key_of(at));
		if (json_kind(at) == JSON_ARRAY && (mine || replaces(own)))
			put_list(&w, is_alone ? NULL : at, mine, &text);
		else if (mine && has_named(at))
			put_named(&w, at, mine, &text);
		else
			put(&w, mine ? mine : at, &text);
	}
	json_object_end(&w);
	TRY(buf_status(&text, err));
	return buf_status(out, err);
}

/* ---- what is in a file ---- */

static bool is_known(const struct json *list, struct span key)
{
	for (const struct json *at = json_first(list); at; at = json_next(at))
		if (has_member(at, key))
			return true;
	return false;
}

/* "drain": "yes" would be none. */
static bool is_of_their_kind(const struct json *list, const struct json *member)
{
	for (const struct json *at = json_first(list); at; at = json_next(at))
		for (const struct json *one = json_first(at); one; one = json_next(one))
			if (span_equal(json_key_of(one), json_key_of(member)) && json_kind(one) == json_kind(member))
				return true;
	return false;
}

static enum status refuse_entry(
	struct span list, size_t at, const struct json *entry, const char *what, struct span key, struct error *err)
{
	return error_set(err, ERR_INVALID, "%.*s[%zu] ('%.*s'): %s'%.*s'", SPAN_ARGS(list), at,
		SPAN_ARGS(span_cut(name_of(entry), 60)), what, SPAN_ARGS(span_cut(key, 60)));
}

/* A misspelt member would be one that is not known. Numbers are sizes and rates, but for how many examples a prompt had. */
static enum status check_entry(
	const struct json *shipped, const struct json *own, const struct json *entry, size_t at, struct error *err)
{
	struct span list = json_key_of(own);
	double number;

	if (json_kind(entry) != JSON_OBJECT)
		return error_set(err, ERR_INVALID, "%.*s[%zu] is no object", SPAN_ARGS(list), at);
	for (const struct json *one = json_first(entry); one; one = json_next(one)) {
		struct span key = json_key_of(one);
		if (!is_known(shipped, key))
			return refuse_entry(list, at, entry, "no entry of the program has a member ", key, err);
		if (!is_of_their_kind(shipped, one))
			return refuse_entry(
				list, at, entry, "the entries of the program have another kind of value in ", key, err);
		bool is_count = span_equal(key, SPAN("count"));
		if (json_number_of(one, &number) && !span_equal(key, SPAN("shots")) &&
			(!(number > 0) || (is_count && number != floor(number))))
			return refuse_entry(list, at, entry,
				is_count ? "no whole number above 0 is " : "no number above 0 is ", key, err);
	}
	for (const struct json *other = json_first(own); other != entry; other = json_next(other))
		if (is_same(other, entry))
			return refuse_entry(list, at, entry,
				"there is another entry of this name before it: ", name_of(entry), err);
	return OK;
}

/* Of entries under their names the members alone: their numbers may be anything. */
static enum status check_named(const struct json *shipped, const struct json *own, struct error *err)
{
	struct span list = json_key_of(own);

	for (const struct json *entry = json_first(own); entry; entry = json_next(entry)) {
		struct span name = span_cut(json_key_of(entry), 60);
		if (json_kind(entry) != JSON_OBJECT)
			return error_set(
				err, ERR_INVALID, "%.*s '%.*s' is no object", SPAN_ARGS(list), SPAN_ARGS(name));
		for (const struct json *one = json_first(entry); one; one = json_next(one))
			if (!is_known(shipped, json_key_of(one)))
				return error_set(err, ERR_INVALID,
					"%.*s '%.*s': no entry of the program has a member '%.*s'", SPAN_ARGS(list),
					SPAN_ARGS(name), SPAN_ARGS(span_cut(json_key_of(one), 60)));
			else if (!is_of_their_kind(shipped, one))
				return error_set(err, ERR_INVALID,
					"%.*s '%.*s': the entries of the program have another kind of value in '%.*s'",
					SPAN_ARGS(list), SPAN_ARGS(name), SPAN_ARGS(span_cut(json_key_of(one), 60)));
	}
	return OK;
}

static enum status check_entries(const struct json *shipped, const struct json *own, struct error *err)
{
	size_t at = 0;

	if (has_named(shipped))
		return check_named(shipped, own, err);
	if (json_kind(own) != JSON_ARRAY)
		return OK;
	for (const struct json *entry = json_first(own); entry; entry = json_next(entry))
		TRY(check_entry(shipped, own, entry, at++, err));
	return OK;
}

static enum status check_members(const struct json *shipped, const struct json *own, struct error *err)
{
	if (json_kind(own) != JSON_OBJECT)
		return error_set(err, ERR_INVALID, "a JSON object is expected");
	for (const struct json *at = json_first(own); at; at = json_next(at)) {
		const struct json *known = NULL;
		for (const struct json *other = json_first(own); other != at; other = json_next(other))
			if (span_equal(json_key_of(other), json_key_of(at)))
				return error_set(err, ERR_INVALID, "'%.*s' is there twice",
					SPAN_ARGS(span_cut(json_key_of(at), 60)));
		for (const struct json *one = json_first(shipped); one && !known; one = json_next(one))
			if (span_equal(json_key_of(one), json_key_of(at)))
				known = one;
		if (span_equal(json_key_of(at), SPAN("replace"))) {
			if (json_kind(at) != JSON_BOOL)
				return error_set(err, ERR_INVALID, "'replace' is neither true nor false");
			continue;
		}
		if (!known)
			return error_set(err, ERR_INVALID, "'%.*s' is no member of it",
				SPAN_ARGS(span_cut(json_key_of(at), 60)));
		if (json_kind(known) != json_kind(at))
			return error_set(err, ERR_INVALID, "'%.*s' is not what it is in the list of the program",
				SPAN_ARGS(span_cut(json_key_of(at), 60)));
		TRY(check_entries(known, at, err));
	}
	return OK;
}

static enum status check_devices(const struct json *merged, struct span text, struct error *err)
{
	AUTO(devices) devices = NULL;

	(void)merged;
	return devices_new(&devices, text, err);
}

static enum status check_references(const struct json *merged, struct span text, struct error *err)
{
	(void)text;
	return evaluation_check_references(merged, err);
}

/* Above 0; of what is not there, nothing is said. */
static bool is_rate(const struct json *entry, const char *key)
{
	const struct json *node = json_get(entry, key);
	double value;

	return !node || (json_number_of(node, &value) && value > 0);
}

static enum status check_limits(const struct json *merged, struct span text, struct error *err)
{
	const struct json *s3 = json_get(merged, "s3"), *links = json_get(merged, "links");
	size_t at = 0;

	(void)text;
	if (!json_get(s3, "writes_per_s") || !json_get(s3, "reads_per_s") || !is_rate(s3, "writes_per_s") ||
		!is_rate(s3, "reads_per_s"))
		return error_set(err, ERR_INVALID, "s3 has writes_per_s and reads_per_s, each a number above 0");
	for (const struct json *link = json_first(links); link; link = json_next(link), at++)
		if (!json_string_of(json_get(link, "type")).len || !is_rate(link, "peer_gb_s") ||
			!is_rate(link, "network_gb_s"))
			return error_set(err, ERR_INVALID,
				"links[%zu] ('%.*s') has no type, or a peer_gb_s or network_gb_s that is no number above 0",
				at, SPAN_ARGS(json_string_of(json_get(link, "type"))));
	return OK;
}

static enum status check_signatures(const struct json *merged, struct span text, struct error *err)
{
	AUTO(signature_set) set = NULL;

	(void)merged;
	return signature_set_new(&set, text, err);
}

static enum status check_advice(const struct json *merged, struct span text, struct error *err)
{
	AUTO(advice) advice = NULL;
	enum severity severity;

	for (const struct json *rule = json_first(json_get(merged, "rules")); rule; rule = json_next(rule))
		if (!severity_parse(json_string_of(json_get(rule, "severity")), &severity))
			return error_set(err, ERR_INVALID,
				"rule '%.*s': its severity is none of info, warning, critical",
				SPAN_ARGS(span_cut(name_of(rule), 60)));
	return advice_new(&advice, text, err);
}

/* ---- one of them ---- */

static enum status parse_file(const char *path, const char *option, struct json **out, struct error *err)
{
	AUTO_DONE(buf) text = BUF_INIT(FILE_BYTES);

	TRY(text_file_read(path, option, &text, err));
	if (json_parse(out, buf_span(&text), err) != OK)
		return error_prefix(err, "--%s %s", option, path), ERR_INVALID;
	return OK;
}

typedef enum status data_check(const struct json *merged, struct span text, struct error *err);

/*
 * What is wrong with the whole is said of the file's own entries, as it has them, where these alone are wrong in the same way: in the whole
 * they stand behind the program's.
 */
static enum status check_whole(
	const struct json *shipped, const struct json *own, struct span text, data_check *check, struct error *err)
{
	AUTO_DONE(buf) alone = BUF_INIT(MERGED_BYTES);
	AUTO(json) whole = NULL;
	AUTO(json) part = NULL;
	struct error own_err = {0};

	TRY(json_parse(&whole, text, err));
	enum status status = check(whole, text, err);
	if (status == OK || merge(shipped, own, true, &alone, &own_err) != OK ||
		json_parse(&part, buf_span(&alone), &own_err) != OK)
		return status;
	enum status own_status = check(part, buf_span(&alone), &own_err);
	if (own_status == status)
		*err = own_err;
	return status;
}

static enum status read_one(const struct options *options, const char *option, const char *name, data_check *check,
	struct buf *out, struct error *err)
{
	const struct embedded_file *file = embedded_find(embedded_data, span_from(name));
	const char *path = options_text(options, option);
	AUTO(json) shipped = NULL;
	AUTO(json) own = NULL;

	*out = BUF_INIT(MERGED_BYTES);
	if (!file)
		return error_set(err, ERR_INTERNAL, "this server was built without %s", name);
	if (!path) {
		buf_append_span(out, embedded_span(file));
		return buf_status(out, err);
	}
	TRY(json_parse(&shipped, embedded_span(file), err));
	TRY(parse_file(path, option, &own, err));
	enum status status = check_members(shipped, own, err);
	if (status == OK)
		status = merge(shipped, own, replaces(own), out, err);
	if (status == OK)
		status = check_whole(shipped, own, buf_span(out), check, err);
	if (status != OK)
		error_prefix(err, "--%s %s", option, path);
	return status;
}

static enum status read_prices(const struct options *options, struct buf *out, struct error *err)
{
	const char *path = options_text(options, "prices-file");
	AUTO(arena) arena = arena_new();
	AUTO(json) document = NULL;
	struct price_list list;

	*out = BUF_INIT(MERGED_BYTES);
	if (!arena)
		return error_no_memory(err);
	if (!path)
		return OK;
	TRY(parse_file(path, "prices-file", &document, err));
	enum status status = price_list_read(&list, document, arena, err);
	if (status == OK)
		status = price_list_check(&list, arena, err);
	json_print(document, out);
	if (status == OK)
		status = buf_status(out, err);
	if (status != OK)
		error_prefix(err, "--prices-file %s", path);
	return status;
}

/* Its entry of the options, and what came with the program; name NULL: prices, which are of the file alone. */
static const struct source {
	const char *option, *name;
	data_check *check;
	size_t at; /* in struct data_files */
} sources[DATA_FILES] = {
	{"devices-file", "devices.json", check_devices, offsetof(struct data_files, devices)},
	{"references-file", "references.json", check_references, offsetof(struct data_files, references)},
	{"limits-file", "limits.json", check_limits, offsetof(struct data_files, limits)},
	{"signatures-file", "signatures.json", check_signatures, offsetof(struct data_files, signatures)},
	{"advice-file", "advice.json", check_advice, offsetof(struct data_files, advice)},
	{"prices-file", NULL, NULL, offsetof(struct data_files, prices)},
};

static enum status read_source(
	const struct source *source, const struct options *options, struct buf *out, struct error *err)
{
	return source->name ? read_one(options, source->option, source->name, source->check, out, err)
			    : read_prices(options, out, err);
}

enum status data_files_read(struct data_files *out, const struct options *options, struct error *err)
{
	data_files_done(out);
	for (size_t i = 0; i < DATA_FILES; i++)
		TRY(read_source(&sources[i], options, (struct buf *)((char *)out + sources[i].at), err));
	return OK;
}

size_t data_files_list_changed(
	const struct data_files *known, const struct options *options, const char *out[DATA_FILES])
{
	size_t count = 0;

	for (size_t i = 0; i < DATA_FILES; i++) {
		AUTO_DONE(buf) now = BUF_INIT(MERGED_BYTES);
		struct error why = {0};
		const struct buf *before = (const struct buf *)((const char *)known + sources[i].at);
		enum status status = read_source(&sources[i], options, &now, &why);
		if (status == OK && span_equal(buf_span(&now), buf_span(before)))
			continue;
		if (status != OK)
			log_line(LOG_WARNING, "file_would_stop_a_start", "error=\"%s\"", why.text);
		out[count++] = sources[i].option;
	}
	return count;
}

void data_files_done(struct data_files *files)
{
	buf_done(&files->devices);
	buf_done(&files->references);
	buf_done(&files->limits);
	buf_done(&files->signatures);
	buf_done(&files->advice);
	buf_done(&files->prices);
}

enum status data_files_put_prices(const struct data_files *files, struct pipeline *pipeline, struct error *err)
{
	AUTO(json) document = NULL;

	if (!files->prices.len)
		return OK;
	TRY(json_parse(&document, buf_span(&files->prices), err));
	return goodput_put_prices(pipeline, document, err);
}
