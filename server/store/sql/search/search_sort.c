/* What `sort=` names, and cursors: where a page ended in such an order. */
#include "model/query.h"
#include "store/sql/search/job_seconds.h"
#include "store/sql/search/search_derived.h"
#include "store/sql/search/search_order.h"

#include <inttypes.h>
#include <stdio.h>

enum { CURSOR_TEXT_BYTES = 16384 };

/* ---- what to sort by ---- */

#define LASTED_MS "(CASE WHEN j.started_ms > 0 THEN coalesce(" JOB_UNTIL_MS " - j.started_ms, 0) ELSE 0 END)"

static void add_source(struct search_sort *sort, const char *column)
{
	sort->sources[sort->source_count++] =
		(struct search_source){.kind = sort->kind == SEARCH_SORT_TEXT ? SEARCH_JOB_TEXT : SEARCH_JOB_NUMBER,
			.column = column,
			.key = SPAN("")};
}

static bool find_column(struct span name, struct search_sort *sort)
{
	static const struct {
		const char *name;
		enum search_sort_kind kind;
		const char *sql;
		const char *columns[2];
	} columns[] = {
		{"name", SEARCH_SORT_TEXT, "j.folded", {"name"}},
		{"status", SEARCH_SORT_TEXT, "j.status", {"status"}},
		{"created", SEARCH_SORT_I64, "j.created_ms", {"created_ms"}},
		{"modified", SEARCH_SORT_I64, "j.modified_ms", {"modified_ms"}},
		{"started", SEARCH_SORT_MISSING_I64, "j.started_ms", {"started_ms"}},
		{"ended", SEARCH_SORT_MISSING_I64, "j.ended_ms", {"ended_ms"}},
		{"team", SEARCH_SORT_TEXT, "j.team", {"team"}},
		{"secondary", SEARCH_SORT_TEXT, "j.secondary", {"secondary"}},
		{"FailureReason", SEARCH_SORT_TEXT, "j.failure_reason", {"failure_reason"}},
		/* What still runs has no time of its own yet: its place would move from page to page. */
		{"duration", SEARCH_SORT_MISSING_I64, LASTED_MS, {"started_ms", "until_ms"}},
	};

	for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
		if (span_equal(name, span_from(columns[i].name))) {
			sort->kind = columns[i].kind;
			sort->column = columns[i].sql;
			for (size_t k = 0; k < 2 && columns[i].columns[k]; k++)
				add_source(sort, columns[i].columns[k]);
			return true;
		}
	if (search_seconds_of(name, &sort->sources[0], &sort->column)) {
		sort->kind = SEARCH_SORT_NUMBER;
		sort->source_count = 1;
		return true;
	}
	bool is_text;
	sort->column = search_derived_order(name, &is_text);
	sort->kind = is_text ? SEARCH_SORT_MISSING_TEXT : SEARCH_SORT_MISSING_I64;
	return sort->column != NULL;
}

/* Where somebody set it right, that counts. */
static void add_attribute(struct search_sort *sort, struct search_source attribute)
{
	if (attribute.by_hand)
		sort->sources[sort->source_count++] =
			(struct search_source){.kind = SEARCH_ATTRIBUTE, .key = span_from(attribute.by_hand)};
	sort->sources[sort->source_count++] = attribute;
}

static struct span unquoted(struct span name)
{
	bool is_quoted = name.len >= 2 && name.ptr[0] == '"' && name.ptr[name.len - 1] == '"';

	return is_quoted ? span_of(name.ptr + 1, name.len - 2) : name;
}

static bool find_figure(struct span name, struct search_sort *sort)
{
	struct search_source source = {.kind = SEARCH_FIGURE, .aggregate = AGGREGATE_LAST};
	bool is_metric = span_starts_with(name, SPAN("metric."));
	struct span metric = span_skip(name, is_metric ? 7 : 0);

	bool has_aggregate = query_take_aggregate(&metric, &source.aggregate);
	metric = unquoted(metric);
	bool is_role = !is_metric && role_parse(metric, &source.role) && source.role != ROLE_OTHER;
	source.role = is_role ? source.role : ROLE_OTHER;
	source.key = is_role ? SPAN("") : metric;
	sort->kind = SEARCH_SORT_FIGURE;
	sort->sources[sort->source_count++] = source;
	return metric.len && (is_metric || is_role || has_aggregate);
}

enum status search_sort_parse(struct search_sort *out, struct span text, struct error *err)
{
	struct search_sort sort = {.is_descending = text.ptr[0] == '-'};
	struct search_source attribute;
	struct span name = span_skip(text, sort.is_descending);

	if (find_column(name, &sort)) {
		*out = sort;
		return OK;
	}
	if (search_attribute_of(name, &attribute)) {
		sort.kind = SEARCH_SORT_ATTRIBUTE;
		add_attribute(&sort, attribute);
	} else if (!find_figure(name, &sort)) {
		return error_set_field(err, ERR_SEMANTIC, "sort",
			"jobs are not sorted by '%.*s' but by name, status, created, started, ended, modified, a role or "
			"metric.NAME.AGG, hp.KEY, tag.KEY, env.KEY or a property as ResourceConfig.InstanceCount",
			(int)(text.len < 200 ? text.len : 200), text.ptr);
	}
	*out = sort;
	return OK;
}

/* ---- cursors: hex of "SORT NUL rank job_id number bits NUL text" ---- */

enum status search_cursor_print(
	struct span sort, const struct search_place *place, struct arena *arena, struct span *out, struct error *err)
{
	AUTO_DONE(buf) plain = BUF_INIT(CURSOR_TEXT_BYTES);
	uint64_t bits;

	memcpy(&bits, &place->real, sizeof bits);
	buf_append_span(&plain, sort);
	buf_append_char(&plain, 0);
	buf_printf(&plain, "%" PRId64 " %" PRId64 " %" PRId64 " %" PRIu64, place->rank, place->job_id, place->number,
		bits);
	buf_append_char(&plain, 0);
	buf_append_span(&plain, place->text);
	TRY(buf_status(&plain, err));
	char *hex = arena_alloc(arena, 2 * plain.len + 1);
	if (!hex)
		return error_no_memory(err);
	for (size_t i = 0; i < plain.len; i++)
		snprintf(hex + 2 * i, 3, "%02x", (unsigned char)plain.ptr[i]);
	*out = span_of(hex, 2 * plain.len);
	return OK;
}

static bool decode_hex(struct span cursor, struct arena *arena, struct span *out)
{
	char *plain = cursor.len % 2 ? NULL : arena_alloc(arena, cursor.len / 2);

	if (!plain)
		return false;
	for (size_t i = 0; i < cursor.len / 2; i++) {
		int high = span_hex_digit(cursor.ptr[2 * i]), low = span_hex_digit(cursor.ptr[2 * i + 1]);
		if (high < 0 || low < 0)
			return false;
		plain[i] = (char)(high << 4 | low);
	}
	*out = span_of(plain, cursor.len / 2);
	return true;
}

static bool parse_figures(struct span text, struct search_place *place)
{
	struct span rest = text, parts[4] = {{0}};
	uint64_t bits;

	for (size_t i = 0; i < 4; i++)
		if (!span_next(&rest, ' ', &parts[i]))
			return false;
	if (!span_parse_i64(parts[0], &place->rank) || !span_parse_i64(parts[1], &place->job_id) ||
		!span_parse_i64(parts[2], &place->number) || !span_parse_u64(parts[3], &bits))
		return false;
	memcpy(&place->real, &bits, sizeof bits);
	return !rest.ptr && !isnan(place->real) && place->rank >= SEARCH_RANK_VALUE &&
	       place->rank <= SEARCH_RANK_MISSING;
}

enum status search_cursor_parse(
	struct span cursor, struct span sort, struct arena *arena, struct search_place *out, struct error *err)
{
	struct span rest, found_sort, figures;
	struct search_place place = {0};

	if (!decode_hex(cursor, arena, &rest) || !span_next(&rest, 0, &found_sort) || !span_next(&rest, 0, &figures) ||
		!rest.ptr || !parse_figures(figures, &place) || !span_is_utf8(rest))
		return error_set_field(err, ERR_INVALID, "cursor", "this is not a cursor of the job search");
	if (!span_equal(found_sort, sort))
		return error_set_field(err, ERR_INVALID, "cursor",
			"the cursor is of a list sorted by '%.*s', not by '%.*s'",
			(int)(found_sort.len < 100 ? found_sort.len : 100), found_sort.ptr,
			(int)(sort.len < 100 ? sort.len : 100), sort.ptr);
	place.text = rest;
	*out = place;
	return OK;
}
