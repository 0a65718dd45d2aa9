#include "fleet/nccl_line.h"

#include <ctype.h>
#include <math.h>

enum { FIELDS_MAX = 32, HALF_FIELDS = 4, SPREAD_FIELDS = 4, STAMP_FIELDS = 2 };

const char nccl_line_pattern[] =
	"\\b(?:u?int(?:8|32|64)|half|float|double|bfloat16|f(?:p)?8_?e[45]m[23])\\s+(?:sum|prod|max|min|avg|mulsum|none|all)\\s|"
	"# nThread |#\\s+Rank +\\d+ |\\b(?:all_reduce|all_gather|reduce_scatter|alltoall|broadcast|reduce|sendrecv|gather|scatter|hypercube)_perf\\b|# Out of bounds values|# Avg bus bandwidth";

static struct span behind(struct span text, const char *mark)
{
	ptrdiff_t at = span_find(text, span_from(mark));

	return at < 0 ? span_of(NULL, 0) : span_skip(text, (size_t)at + strlen(mark));
}

static size_t split(struct span text, struct span fields[FIELDS_MAX])
{
	size_t count = 0;

	for (size_t at = 0; at < text.len && count < FIELDS_MAX;) {
		size_t from = at;
		while (at < text.len && !isspace((unsigned char)text.ptr[at]))
			at++;
		if (at > from)
			fields[count++] = span_of(text.ptr + from, at - from);
		else
			at++;
	}
	return count;
}

static double number_of(struct span field)
{
	double value;

	return span_parse_double(field, &value) ? value : NAN; /* "N/A" */
}

static void read_half(const struct span *fields, struct nccl_half *out)
{
	*out = (struct nccl_half){
		number_of(fields[0]), number_of(fields[1]), number_of(fields[2]), number_of(fields[3])};
}

static bool is_type(struct span field)
{
	static const char *const types[] = {"int8", "uint8", "int32", "uint32", "int64", "uint64", "half", "float",
		"double", "bfloat16", "f8e4m3", "f8e5m2", "fp8_e4m3", "fp8_e5m2"};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (span_equal(field, span_from(types[i])))
			return true;
	return false;
}

/* "2026-03-02 19:31:05" */
static bool is_stamp(const struct span fields[STAMP_FIELDS])
{
	return span_find_char(fields[0], '-') == 4 && span_find_char(fields[1], ':') == 2;
}

/*
 * SIZE COUNT TYPE REDOP [ROOT] TIME ALGBW BUSBW #WRONG [MIN MAX P99 CV] TIME ALGBW BUSBW #WRONG [MIN MAX P99 CV] [DATE TIME], perhaps behind what a
 * launcher puts in front.
 */
static bool read_row(struct span line, struct nccl_line *out)
{
	struct span fields[FIELDS_MAX];
	size_t count = split(line, fields), type = 2;
	int64_t elements;

	while (type < count && !is_type(fields[type]))
		type++;
	if (count >= STAMP_FIELDS && is_stamp(fields + count - STAMP_FIELDS))
		count -= STAMP_FIELDS;
	if (count < type + 2)
		return false;
	size_t half = (count - type - 2) / 2; /* a root makes the number of fields odd */
	if (half != HALF_FIELDS && half != HALF_FIELDS + SPREAD_FIELDS)
		return false;
	if (!span_parse_i64(fields[type - 2], &out->size) || !span_parse_i64(fields[type - 1], &elements) ||
		out->size < 0)
		return false;
	out->type = fields[type];
	out->redop = fields[type + 1];
	read_half(fields + count - 2 * half, &out->out);
	read_half(fields + count - half, &out->in);
	return out->out.busbw >= 0;
}

static struct span word_at(struct span text)
{
	size_t len = 0;

	text = span_trim(text);
	while (len < text.len && !isspace((unsigned char)text.ptr[len]))
		len++;
	return span_of(text.ptr, len);
}

/* "all_reduce" of ".../build/all_reduce_perf -b 8" */
static bool read_name(struct span line, struct nccl_line *out)
{
	static const char *const tests[] = {"all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast",
		"reduce", "sendrecv", "gather", "scatter", "hypercube"};
	ptrdiff_t at = span_find(line, SPAN("_perf"));
	size_t end = at < 0 ? 0 : (size_t)at, from = end;

	while (from && (islower((unsigned char)line.ptr[from - 1]) || line.ptr[from - 1] == '_'))
		from--;
	out->name = span_of(line.ptr + from, end - from);
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		if (span_equal(out->name, span_from(tests[i])))
			return true;
	return false;
}

void nccl_line_read(struct span line, struct nccl_line *out)
{
	struct span rest;

	*out = (struct nccl_line){.name = SPAN(""), .type = SPAN(""), .redop = SPAN("")};
	if (read_row(line, out))
		out->kind = NCCL_ROW;
	else if (behind(line, "# nThread ").ptr)
		out->kind = NCCL_BEGIN;
	else if ((rest = behind(line, "# Out of bounds values : ")).ptr) {
		out->kind = NCCL_WRONG;
		out->value = number_of(word_at(rest));
	} else if ((rest = behind(line, "# Avg bus bandwidth")).ptr && (rest = behind(rest, ": ")).ptr) {
		out->kind = NCCL_AVERAGE;
		out->value = number_of(word_at(rest));
	} else if (behind(line, " Rank ").ptr && (rest = behind(line, " on ")).ptr && behind(line, " device ").ptr) {
		out->kind = NCCL_RANK;
		out->name = word_at(rest);
	} else if (read_name(line, out))
		out->kind = NCCL_NAME;
}
