/* The parser computes as it reads; a value is overwritten by what becomes of it. */
#include "aws/metrics/metric_math.h"

#include <math.h>

struct math {
	struct span text;
	size_t at;
	const struct math_names *names;
	unsigned depth, references;
	struct error *err;
};

void math_value_done(struct math_value *value)
{
	for (size_t i = 0; i < value->count; i++) {
		mem_free(value->series[i].ts_ms);
		mem_free(value->series[i].values);
	}
	mem_free(value->series);
	*value = (struct math_value){0};
}

struct math_series *math_value_add(struct math_value *value, size_t count)
{
	struct math_series *grown = mem_resize(value->series, value->count + 1, sizeof *grown);

	if (!grown)
		return NULL;
	value->series = grown;
	struct math_series *series = &grown[value->count++];
	*series = (struct math_series){.ts_ms = mem_resize(NULL, count + 1, sizeof *series->ts_ms),
		.values = mem_resize(NULL, count + 1, sizeof *series->values)};
	return series->ts_ms && series->values ? series : NULL;
}

static void move(struct math_value *to, struct math_value *from)
{
	math_value_done(to);
	*to = *from;
	*from = (struct math_value){0};
}

static enum status out_of_memory(struct math *m)
{
	return error_no_memory(m->err);
}

static enum status refuse(struct math *m, const char *what)
{
	return error_set(m->err, ERR_SEMANTIC, "%s at character %zu of '%.*s'", what, m->at + 1,
		(int)(m->text.len < 200 ? m->text.len : 200), m->text.ptr);
}

/* ---- operations ---- */

static double apply(char operation, double a, double b)
{
	switch (operation) {
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	case '/':
		return a / b;
	default:
		return pow(a, b);
	}
}

/* What has no value has no point. */
static void put(struct math_series *series, int64_t ts_ms, double value, size_t *kept)
{
	if (!isfinite(value))
		return;
	series->ts_ms[*kept] = ts_ms;
	series->values[(*kept)++] = value;
}

static void apply_number(struct math_series *series, char operation, double number, bool is_left)
{
	size_t kept = 0;

	for (size_t i = 0; i < series->count; i++) {
		double value = series->values[i];
		put(series, series->ts_ms[i],
			is_left ? apply(operation, number, value) : apply(operation, value, number), &kept);
	}
	series->count = kept;
}

/* Points that both have, into `into`. */
static void apply_series(
	struct math_series *into, const struct math_series *a, const struct math_series *b, char operation)
{
	size_t i = 0, j = 0, kept = 0;

	while (i < a->count && j < b->count) {
		if (a->ts_ms[i] < b->ts_ms[j]) {
			i++;
		} else if (a->ts_ms[i] > b->ts_ms[j]) {
			j++;
		} else {
			put(into, a->ts_ms[i], apply(operation, a->values[i], b->values[j]), &kept);
			i++;
			j++;
		}
	}
	into->count = kept;
}

/* Into left. */
static enum status combine(struct math *m, struct math_value *left, struct math_value *right, char operation)
{
	if (left->kind == MATH_NUMBER && right->kind == MATH_NUMBER) {
		left->number = apply(operation, left->number, right->number);
		return OK;
	}
	if (left->kind == MATH_NUMBER) {
		for (size_t i = 0; i < right->count; i++)
			apply_number(&right->series[i], operation, left->number, true);
		move(left, right);
		return OK;
	}
	if (right->kind == MATH_NUMBER) {
		for (size_t i = 0; i < left->count; i++)
			apply_number(&left->series[i], operation, right->number, false);
		return OK;
	}
	if (right->kind == MATH_LIST && left->kind == MATH_LIST)
		return refuse(m, "two lists are combined");
	bool is_left_list = left->kind == MATH_LIST;
	for (size_t i = 0; is_left_list && i < left->count; i++)
		apply_series(&left->series[i], &left->series[i], &right->series[0], operation);
	for (size_t i = 0; !is_left_list && i < right->count; i++)
		apply_series(&right->series[i], &left->series[0], &right->series[i], operation);
	if (!is_left_list)
		move(left, right);
	return OK;
}

/* ---- functions ---- */

struct sums {
	double sum, squares, min, max;
	size_t count;
};

static void sums_add(struct sums *sums, double value)
{
	sums->min = sums->count && sums->min < value ? sums->min : value;
	sums->max = sums->count && sums->max > value ? sums->max : value;
	sums->sum += value;
	sums->squares += value * value;
	sums->count++;
}

enum reduction { REDUCE_AVG, REDUCE_MAX, REDUCE_MIN, REDUCE_STDDEV, REDUCE_SUM };

static double reduce(const struct sums *sums, enum reduction reduction)
{
	double count = (double)sums->count, mean = sums->sum / count;

	switch (reduction) {
	case REDUCE_AVG:
		return mean;
	case REDUCE_MAX:
		return sums->count ? sums->max : NAN;
	case REDUCE_MIN:
		return sums->count ? sums->min : NAN;
	case REDUCE_STDDEV:
		return sqrt(fmax(0, sums->squares / count - mean * mean));
	case REDUCE_SUM:
		break;
	}
	return sums->count ? sums->sum : NAN;
}

/* The next time that one of the lists has, behind places[]; false: there is none. */
static bool next_time(const struct math_value *list, const size_t *places, int64_t *ts_ms)
{
	bool has_any = false;

	for (size_t i = 0; i < list->count; i++) {
		const struct math_series *series = &list->series[i];
		if (places[i] < series->count && (!has_any || series->ts_ms[places[i]] < *ts_ms)) {
			*ts_ms = series->ts_ms[places[i]];
			has_any = true;
		}
	}
	return has_any;
}

static enum status reduce_list(struct math *m, struct math_value *list, enum reduction reduction)
{
	AUTO_DONE(math_value) result = {.kind = MATH_SERIES};
	AUTO_MEM size_t *places = mem_zeroed((list->count + 1) * sizeof *places);
	size_t most = 0, kept = 0;
	int64_t ts_ms = 0;

	for (size_t i = 0; i < list->count; i++)
		most += list->series[i].count;
	struct math_series *out = math_value_add(&result, most);
	if (!out || !places)
		return out_of_memory(m);
	if (list->count) {
		out->period_ms = list->series[0].period_ms;
		out->first_ms = list->series[0].first_ms;
		out->until_ms = list->series[0].until_ms;
	}
	while (next_time(list, places, &ts_ms)) {
		struct sums sums = {0};
		for (size_t i = 0; i < list->count; i++)
			if (places[i] < list->series[i].count && list->series[i].ts_ms[places[i]] == ts_ms)
				sums_add(&sums, list->series[i].values[places[i]++]);
		put(out, ts_ms, reduce(&sums, reduction), &kept);
	}
	out->count = kept;
	move(list, &result);
	return OK;
}

static enum status run_reduction(struct math *m, struct math_value *value, enum reduction reduction)
{
	struct sums sums = {0};

	if (value->kind == MATH_LIST)
		return reduce_list(m, value, reduction);
	if (value->kind == MATH_NUMBER)
		return refuse(m, "a number where a series is wanted");
	for (size_t i = 0; i < value->series[0].count; i++)
		sums_add(&sums, value->series[0].values[i]);
	math_value_done(value);
	*value = (struct math_value){.kind = MATH_NUMBER, .number = reduce(&sums, reduction)};
	return OK;
}

static void run_each(struct math_value *value, double (*function)(double))
{
	if (value->kind == MATH_NUMBER)
		value->number = function(value->number);
	for (size_t s = 0; s < value->count; s++) {
		struct math_series *series = &value->series[s];
		size_t kept = 0;
		for (size_t i = 0; i < series->count; i++)
			put(series, series->ts_ms[i], function(series->values[i]), &kept);
		series->count = kept;
	}
}

enum walk { WALK_DIFF, WALK_RATE, WALK_RUNNING_SUM };

static void walk_series(struct math_series *series, enum walk walk)
{
	double before = 0, sum = 0;
	int64_t before_ms = 0;
	size_t kept = 0;

	for (size_t i = 0; i < series->count; i++) {
		double value = series->values[i], change = value - before;
		double seconds = (double)(series->ts_ms[i] - before_ms) / 1000;
		before = value;
		before_ms = series->ts_ms[i];
		sum += value;
		if (walk == WALK_RUNNING_SUM)
			put(series, before_ms, sum, &kept);
		else if (i)
			put(series, before_ms, walk == WALK_RATE ? change / seconds : change, &kept);
	}
	series->count = kept;
}

static enum status run_walk(struct math *m, struct math_value *value, enum walk walk)
{
	if (value->kind == MATH_NUMBER)
		return refuse(m, "a number where a series is wanted");
	for (size_t i = 0; i < value->count; i++)
		walk_series(&value->series[i], walk);
	return OK;
}

static enum status fill_series(
	struct math *m, const struct math_series *from, bool is_repeat, double number, struct math_value *out)
{
	size_t most = (size_t)((from->until_ms - from->first_ms) / from->period_ms) + 1, at = 0;
	struct math_series *to = math_value_add(out, most + from->count);
	size_t kept = 0;

	if (!to)
		return out_of_memory(m);
	to->period_ms = from->period_ms;
	to->first_ms = from->first_ms;
	to->until_ms = from->until_ms;
	for (int64_t ts_ms = from->first_ms; ts_ms < from->until_ms; ts_ms += from->period_ms) {
		bool is_there = at < from->count && from->ts_ms[at] == ts_ms;
		number = is_there && is_repeat ? from->values[at] : number;
		put(to, ts_ms, is_there ? from->values[at] : number, &kept);
		at += is_there;
	}
	to->count = kept;
	return OK;
}

static enum status run_fill(struct math *m, struct math_value *value, bool is_repeat, double number)
{
	AUTO_DONE(math_value) result = {.kind = value->kind};

	if (value->kind == MATH_NUMBER)
		return refuse(m, "a number where a series is wanted");
	for (size_t i = 0; i < value->count; i++)
		TRY(fill_series(m, &value->series[i], is_repeat, is_repeat ? NAN : number, &result));
	move(value, &result);
	return OK;
}

/* ---- the language ---- */

static enum status read_sum(struct math *m, struct math_value *out);

static void skip_blanks(struct math *m)
{
	while (m->at < m->text.len &&
		(m->text.ptr[m->at] == ' ' || m->text.ptr[m->at] == '\t' || m->text.ptr[m->at] == '\n'))
		m->at++;
}

static char look(struct math *m)
{
	skip_blanks(m);
	return m->at < m->text.len ? m->text.ptr[m->at] : 0;
}

static bool accept_char(struct math *m, char c)
{
	if (look(m) != c)
		return false;
	m->at++;
	return true;
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static struct span take_name(struct math *m)
{
	size_t from = m->at;

	while (m->at < m->text.len && (is_letter(m->text.ptr[m->at]) || is_digit(m->text.ptr[m->at])))
		m->at++;
	return span_of(m->text.ptr + from, m->at - from);
}

static enum status read_number(struct math *m, struct math_value *out)
{
	size_t from = m->at;

	while (m->at < m->text.len) {
		char c = m->text.ptr[m->at], before = m->at > from ? m->text.ptr[m->at - 1] : 0;
		bool is_sign = (c == '-' || c == '+') && (before == 'e' || before == 'E');
		if (!is_digit(c) && c != '.' && c != 'e' && c != 'E' && !is_sign)
			break;
		m->at++;
	}
	*out = (struct math_value){.kind = MATH_NUMBER};
	return span_parse_double(span_of(m->text.ptr + from, m->at - from), &out->number) ? OK : refuse(m, "no number");
}

static enum status read_list(struct math *m, struct math_value *out)
{
	*out = (struct math_value){.kind = MATH_LIST};
	do {
		AUTO_DONE(math_value) item = {0};
		TRY(read_sum(m, &item));
		if (item.kind != MATH_SERIES)
			return refuse(m, "a list holds series alone");
		struct math_series *grown = mem_resize(out->series, out->count + 1, sizeof *grown);
		if (!grown)
			return out_of_memory(m);
		out->series = grown;
		out->series[out->count++] = item.series[0];
		item.count = 0;
	} while (accept_char(m, ','));
	return accept_char(m, ']') ? OK : refuse(m, "']' is missing");
}

static enum status count_reference(struct math *m)
{
	return ++m->references <= MATH_MAX_REFERENCES ? OK : refuse(m, "more than 200 references");
}

/* METRICS() or METRICS("part"), behind '('. */
static enum status read_metrics(struct math *m, struct math_value *out)
{
	struct span part = SPAN("");

	TRY(count_reference(m));
	if (look(m) == '"' || look(m) == '\'') {
		char quote = m->text.ptr[m->at++];
		ptrdiff_t end = span_find_char(span_skip(m->text, m->at), quote);
		if (end < 0)
			return refuse(m, "a text without its end");
		part = span_of(m->text.ptr + m->at, (size_t)end);
		m->at += (size_t)end + 1;
	}
	if (!accept_char(m, ')'))
		return refuse(m, "')' is missing");
	*out = (struct math_value){.kind = MATH_LIST};
	return m->names->list(m->names->context, part, out, m->err);
}

/* Behind the first argument of FILL. */
static enum status read_filling(struct math *m, bool *is_repeat, double *number)
{
	AUTO_DONE(math_value) value = {0};

	if (!accept_char(m, ','))
		return refuse(m, "FILL(series, number) or FILL(series, REPEAT) is wanted");
	skip_blanks(m);
	*is_repeat = span_starts_with(span_skip(m->text, m->at), SPAN("REPEAT"));
	if (*is_repeat) {
		m->at += sizeof "REPEAT" - 1;
		return OK;
	}
	TRY(read_sum(m, &value));
	*number = value.number;
	return value.kind == MATH_NUMBER ? OK : refuse(m, "FILL(series, number) or FILL(series, REPEAT) is wanted");
}

static const struct {
	const char *name;
	double (*each)(double);
} each_functions[] = {{"ABS", fabs}, {"CEIL", ceil}, {"FLOOR", floor}, {"LOG", log}, {"LOG10", log10}};

static const char *const reductions[] = {"AVG", "MAX", "MIN", "STDDEV", "SUM"};
static const char *const walks[] = {"DIFF", "RATE", "RUNNING_SUM"};

static int find_name(struct span name, const char *const *names, int count)
{
	for (int i = 0; i < count; i++)
		if (span_equal(name, span_from(names[i])))
			return i;
	return -1;
}

static enum status run_function(struct math *m, struct span name, struct math_value *value)
{
	int reduction = find_name(name, reductions, 5), walk = find_name(name, walks, 3);

	for (size_t i = 0; i < sizeof each_functions / sizeof *each_functions; i++)
		if (span_equal(name, span_from(each_functions[i].name))) {
			run_each(value, each_functions[i].each);
			return OK;
		}
	if (reduction >= 0)
		return run_reduction(m, value, (enum reduction)reduction);
	if (walk >= 0)
		return run_walk(m, value, (enum walk)walk);
	if (value->kind != MATH_SERIES)
		return refuse(m, "a number where a series is wanted");
	double period_s = (double)value->series[0].period_ms / 1000; /* PERIOD */
	math_value_done(value);
	*value = (struct math_value){.kind = MATH_NUMBER, .number = period_s};
	return OK;
}

static bool is_function(struct span name)
{
	for (size_t i = 0; i < sizeof each_functions / sizeof *each_functions; i++)
		if (span_equal(name, span_from(each_functions[i].name)))
			return true;
	return find_name(name, reductions, 5) >= 0 || find_name(name, walks, 3) >= 0 ||
	       span_equal(name, SPAN("PERIOD")) || span_equal(name, SPAN("FILL")) || span_equal(name, SPAN("METRICS"));
}

static enum status read_call(struct math *m, struct span name, struct math_value *out)
{
	bool is_repeat = false;
	double number = 0;

	if (!is_function(name)) {
		m->at -= name.len + 1;
		return error_set(m->err, ERR_SEMANTIC,
			"the function '%.*s' is not done here; there are ABS, AVG, CEIL, DIFF, FILL, FLOOR, LOG, LOG10, MAX, METRICS, "
			"MIN, PERIOD, RATE, RUNNING_SUM, STDDEV and SUM",
			(int)(name.len < 40 ? name.len : 40), name.ptr);
	}
	if (span_equal(name, SPAN("METRICS")))
		return read_metrics(m, out);
	TRY(read_sum(m, out));
	if (span_equal(name, SPAN("FILL"))) {
		TRY(read_filling(m, &is_repeat, &number));
		TRY(run_fill(m, out, is_repeat, number));
	} else {
		TRY(run_function(m, name, out));
	}
	return accept_char(m, ')') ? OK : refuse(m, "')' is missing");
}

static enum status read_primary(struct math *m, struct math_value *out)
{
	char c = look(m);

	if (is_digit(c) || c == '.')
		return read_number(m, out);
	if (accept_char(m, '(')) {
		TRY(read_sum(m, out));
		return accept_char(m, ')') ? OK : refuse(m, "')' is missing");
	}
	if (accept_char(m, '['))
		return read_list(m, out);
	if (!is_letter(c))
		return refuse(m, c ? "an operand is missing" : "an operand is missing at the end");
	struct span name = take_name(m);
	if (accept_char(m, '('))
		return read_call(m, name, out);
	TRY(count_reference(m));
	return m->names->find(m->names->context, name, out, m->err);
}

/* Signs bind less than a power: -2^2 is -4. */
static enum status read_power(struct math *m, struct math_value *out)
{
	if (m->depth == MATH_MAX_DEPTH)
		return refuse(m, "more than 32 parts in each other");
	m->depth++;
	if (accept_char(m, '-')) {
		AUTO_DONE(math_value) minus = {.kind = MATH_NUMBER, .number = -1};
		TRY(read_power(m, out));
		TRY(combine(m, out, &minus, '*'));
	} else {
		TRY(read_primary(m, out));
		if (accept_char(m, '^')) {
			AUTO_DONE(math_value) exponent = {0};
			TRY(read_power(m, &exponent));
			TRY(combine(m, out, &exponent, '^'));
		}
	}
	m->depth--;
	return OK;
}

static enum status read_product(struct math *m, struct math_value *out)
{
	TRY(read_power(m, out));
	for (char operation; (operation = look(m)) == '*' || operation == '/';) {
		AUTO_DONE(math_value) right = {0};
		m->at++;
		TRY(read_power(m, &right));
		TRY(combine(m, out, &right, operation));
	}
	return OK;
}

static enum status read_sum(struct math *m, struct math_value *out)
{
	TRY(read_product(m, out));
	for (char operation; (operation = look(m)) == '+' || operation == '-';) {
		AUTO_DONE(math_value) right = {0};
		m->at++;
		TRY(read_product(m, &right));
		TRY(combine(m, out, &right, operation));
	}
	return OK;
}

enum status metric_math_run(
	struct span expression, const struct math_names *names, struct math_value *out, struct error *err)
{
	struct math m = {.text = expression, .names = names, .err = err};

	*out = (struct math_value){0};
	if (expression.len > MATH_EXPRESSION_MAX_BYTES)
		return error_set(err, ERR_SEMANTIC, "the expression has more than %d bytes", MATH_EXPRESSION_MAX_BYTES);
	TRY(read_sum(&m, out));
	if (look(&m))
		return refuse(&m, "an operator is missing");
	if (out->kind == MATH_NUMBER)
		return refuse(&m, "the result is a number, not a series,");
	if (out->kind == MATH_LIST)
		return refuse(&m, "the result is a list of series, not one,");
	return OK;
}
