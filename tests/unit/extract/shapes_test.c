#include "extract/shapes/shapes.h"
#include "base/json/json_write.h"
#include "extract/trial.h"
#include "test.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { MATCH_STEPS = 100000, LINES_MAX = 9000 };

struct log {
	struct arena *arena;
	struct span lines[LINES_MAX];
	size_t count;
	struct line_shape shapes[SHAPES_MAX];
	size_t found;
};

static void log_done(struct log *log)
{
	arena_free(log->arena);
}
AUTO_DONE_TYPE(log)

__attribute__((format(printf, 2, 3))) static void add(struct log *log, const char *format, ...)
{
	char text[4096];
	va_list arguments;

	va_start(arguments, format);
	int len = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (!log->arena)
		log->arena = arena_new();
	log->lines[log->count++] = arena_copy(log->arena, span_of(text, (size_t)len));
}

static void find(struct log *log)
{
	if (!log->arena)
		log->arena = arena_new();
	CHECK_OK(shapes_find(log->arena, log->lines, log->count, MATCH_STEPS, log->shapes, &log->found, &err));
}

static const struct shape_metric *metric(const struct line_shape *shape, const char *name)
{
	for (size_t i = 0; i < shape->metric_count; i++)
		if (span_equal(shape->metrics[i].definition.name, span_from(name)))
			return &shape->metrics[i];
	return NULL;
}

static struct span example_part(const struct line_shape *shape, size_t start, size_t end)
{
	return span_of(shape->example.ptr + start, end - start);
}

/* Put as a user would put them, the definitions of a shape read each of its lines, with its step. */
static void check_reads(struct log *log, const struct line_shape *shape, uint64_t lines)
{
	AUTO(json) json = NULL;
	AUTO(trial) trial = NULL;
	AUTO(regex_scratch) scratch = regex_scratch_new();
	AUTO_DONE(buf) text = BUF_INIT(1 << 20);
	struct json_writer w = json_writer_on(&text);
	struct trial_hit hits[64];
	size_t count;

	json_array(&w);
	for (size_t i = 0; i < shape->metric_count; i++) {
		const struct metric_definition *definition = &shape->metrics[i].definition;
		json_object(&w);
		json_put_span(&w, "Name", definition->name);
		json_put_span(&w, "Regex", definition->regex);
		if (definition->step_regex.len)
			json_put_span(&w, "Step", definition->step_regex);
		json_object_end(&w);
	}
	json_array_end(&w);
	CHECK_OK(json_parse(&json, buf_span(&text), &err));
	CHECK_OK(trial_new(&trial, json, NULL, &err));
	regex_scratch_limit(scratch, MATCH_STEPS);
	for (size_t i = 0; i < log->count; i++)
		CHECK_OK(trial_line(trial, scratch, log->lines[i], hits, 64, &count, &err));
	for (size_t i = 0; i < shape->metric_count; i++) {
		struct trial_figures figures = trial_figures(trial, i);
		CHECK_INT(figures.numeric, lines);
		CHECK_INT(figures.with_step, shape->has_step ? lines : 0);
		CHECK_INT(shape->metrics[i].matched, shape->count);
	}
}

TEST(a_shape_has_names_roles_and_the_step)
{
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < 300; i++) {
		add(&log, "2025-01-02 03:04:%02d,123 it=%d objective<%.4f> gradmag(%.3f) %.2fK tok/s", i % 60, i,
			2 + exp(-i / 80.0), 1 + i % 7 / 10.0, 1.2 + i % 5 / 100.0);
		if (i % 10 == 0)
			add(&log, "saved /data/run/%d.pt in %.2f s", i, 0.5 + i % 3);
	}
	find(&log);
	CHECK_INT(log.found, 2);
	const struct line_shape *shape = &log.shapes[0];
	CHECK_INT(shape->count, 300);
	CHECK_INT(shape->metric_count, 3);
	const struct shape_metric *objective = metric(shape, "objective");
	CHECK_SPAN(objective->definition.step_regex, SPAN("\\bit=(\\d+)"));
	CHECK_INT(objective->definition.role, ROLE_LOSS);
	CHECK_SPAN(example_part(shape, objective->start, objective->end), SPAN("2.0238")); /* 2 + exp(-299 / 80) */
	CHECK_SPAN(example_part(shape, shape->step_start, shape->step_end), SPAN("299"));
	CHECK_INT(shape->step, 299);
	CHECK_INT(metric(shape, "tok/s")->definition.role, ROLE_THROUGHPUT);
	CHECK_SPAN(metric(shape, "tok/s")->definition.unit, SPAN("tok/s"));
	CHECK_DOUBLE(metric(shape, "tok/s")->value, 1240); /* 299 % 5 = 4 */
	CHECK(metric(shape, "gradmag") != NULL);
	check_reads(&log, shape, 300);
}

/* Bullets, arrows and pictures stand between words and are none. */
TEST(marks_beyond_ascii_are_in_no_name)
{
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < 100; i++)
		add(&log, "» s=%d · train/nll=%.4f · gnorm=%.3f → %d tok/s 🎯 précision：%.3f", 10 * i,
			2 + exp(-i / 80.0), 1 + i % 7 / 10.0, 51000 + i % 13, 0.5 + i % 11 / 100.0);
	find(&log);
	CHECK_INT(log.found, 1);
	const struct line_shape *shape = &log.shapes[0];
	CHECK_INT(shape->metric_count, 4);
	CHECK_INT(metric(shape, "train_nll")->definition.role, ROLE_LOSS);
	CHECK_INT(metric(shape, "gnorm")->definition.role, ROLE_GRAD_NORM);
	CHECK_INT(metric(shape, "tok/s")->definition.role, ROLE_THROUGHPUT);
	CHECK(metric(shape, "précision") != NULL);
	check_reads(&log, shape, 100);
}

TEST(a_unit_in_brackets_is_no_part_of_a_name)
{
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < 100; i++)
		add(&log, "step %d | loss [nats] %.4f | throughput [tok/s] %d | lr [-] %.3e | time (s): %.3f", 10 * i,
			2 + exp(-i / 80.0), 51000 + i % 13, 3e-4 - i * 1e-6, 0.25 + i % 11 / 100.0);
	find(&log);
	CHECK_INT(log.found, 1);
	const struct line_shape *shape = &log.shapes[0];
	CHECK_INT(shape->metric_count, 4);
	CHECK_SPAN(metric(shape, "loss")->definition.unit, SPAN("nats"));
	CHECK_SPAN(metric(shape, "throughput")->definition.unit, SPAN("tok/s"));
	CHECK_INT(metric(shape, "throughput")->definition.role, ROLE_THROUGHPUT);
	CHECK_INT(metric(shape, "lr")->definition.role, ROLE_LEARNING_RATE);
	CHECK_SPAN(metric(shape, "time")->definition.unit, SPAN("s"));
	check_reads(&log, shape, 100);
}

TEST(elements_of_xml_are_names_and_values)
{
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < 100; i++)
		add(&log, "<step n=\"%d\"><loss>%.4f</loss><lr>%.3e</lr></step>", 10 * i, 2 + exp(-i / 80.0),
			3e-4 - i * 1e-6);
	find(&log);
	CHECK_INT(log.found, 1);
	CHECK_INT(log.shapes[0].metric_count, 2);
	CHECK(metric(&log.shapes[0], "loss") && metric(&log.shapes[0], "lr"));
	CHECK(log.shapes[0].has_step);
	check_reads(&log, &log.shapes[0], 100);
}

/* "step/val_loss: 300/3.68": the number behind the names is the step. */
TEST(a_counter_is_no_loss)
{
	AUTO_DONE(log) log = {0};

	for (int i = 1; i <= 100; i++)
		add(&log, "step/val_loss: %d/%.4f", 10 * i, 2 + exp(-i / 80.0));
	find(&log);
	for (size_t i = 0; i < log.found; i++)
		for (size_t j = 0; j < log.shapes[i].metric_count; j++)
			CHECK(log.shapes[i].metrics[j].value < 10);
}

TEST(two_shapes_that_name_a_number_alike_are_told_apart_by_their_first_words)
{
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < 100; i++) {
		add(&log, "alpha phase q<%d> score<%.4f>", i, 2 + exp(-i / 80.0));
		add(&log, "beta phase of all q<%d> score<%.4f>", i, 3 + exp(-i / 80.0));
	}
	find(&log);
	CHECK_INT(log.found, 2);
	for (size_t i = 0; i < log.found; i++) {
		struct span regex = metric(&log.shapes[i], "score")->definition.regex;
		CHECK(span_starts_with(regex, SPAN("^alpha phase q\\b.*?\\bscore<")) ||
			span_starts_with(regex, SPAN("^beta phase of\\b.*?\\bscore<")));
		check_reads(&log, &log.shapes[i], 100);
	}
}

/* Not from below, where the line is another record's, and not from lines that come more seldom, as of checkpoints. */
TEST(the_step_of_a_record_stands_above_it_once)
{
	static const struct {
		int every;
		bool is_below, is_found;
	} cases[] = {{1, false, true}, {1, true, false}, {2, false, false}};

	for (size_t j = 0; j < sizeof cases / sizeof *cases; j++) {
		AUTO_DONE(log) log = {0};
		for (int i = 0; i < 100; i++) {
			if (i % cases[j].every == 0 && !cases[j].is_below)
				add(&log, "=== Step %d/1000 ===", 10 * i);
			add(&log, "loss .......... %.4f", 2 + exp(-i / 80.0));
			if (cases[j].is_below)
				add(&log, "=== Step %d/1000 ===", 10 * i);
		}
		find(&log);
		CHECK_INT(log.found, 1);
		CHECK_SPAN(log.shapes[0].metrics[0].definition.name, SPAN("loss"));
		CHECK(!log.shapes[0].has_step);
		CHECK_SPAN(log.shapes[0].heading.regex, cases[j].is_found ? SPAN("\\bStep (?<step>\\d+)") : SPAN(""));
		CHECK_INT(log.shapes[0].heading.is_step_only, cases[j].is_found);
	}
}

TEST(values_that_are_not_finite_are_of_the_same_shape)
{
	AUTO_DONE(log) log = {0};
	static const char *const odd[] = {"nan", "inf", "-inf", "NaN", "1e-05", "1.#QNAN", "-1.#IND00"};

	for (int i = 0; i < 70; i++)
		add(&log, "step %d | criterion = %s", i, i % 10 ? "2.5" : odd[i / 10]);
	find(&log);
	CHECK_INT(log.found, 1);
	CHECK_INT(log.shapes[0].count, 70);
	check_reads(&log, &log.shapes[0], 70);
}

TEST(what_is_special_to_expressions_is_escaped)
{
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < 40; i++)
		add(&log, "(n) [%d] $cost*^{ %d.5 } \\d+ a|b?%d.25 \xe6\x8d\x9f\xe5\xa4\xb1: %d.125", i, i % 7, i % 3,
			i % 5);
	find(&log);
	CHECK_INT(log.found, 1);
	CHECK(metric(&log.shapes[0], "cost") != NULL);
	CHECK(metric(&log.shapes[0], "\xe6\x8d\x9f\xe5\xa4\xb1") != NULL);
	check_reads(&log, &log.shapes[0], 40);
}

TEST(training_and_validation_are_two_series)
{
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < 200; i++) {
		add(&log, "train: update %d xent %.3f", i, 3 - i / 100.0);
		if (i % 10 == 9)
			add(&log, "validation: update %d xent %.3f", i, 3.2 - i / 100.0);
	}
	find(&log);
	CHECK_INT(log.found, 2);
	const struct shape_metric *train = metric(&log.shapes[0], "xent");
	const struct shape_metric *validation = metric(&log.shapes[1], "validation_xent");
	CHECK_INT(train->definition.role, ROLE_LOSS);
	CHECK_INT(validation->definition.role, ROLE_EVAL_LOSS);
	check_reads(&log, &log.shapes[0], 200);
	check_reads(&log, &log.shapes[1], 20);
}

TEST(a_line_with_a_word_more_is_read_by_the_same_definitions)
{
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < 100; i++)
		add(&log, i % 4 ? "update %d xent %d.5" : "update %d xent %d.5 (best)", i, i % 9);
	find(&log);
	CHECK_INT(log.found, 1);
	check_reads(&log, &log.shapes[0], 100);
}

TEST(a_counter_that_begins_anew_takes_the_epoch_with_it)
{
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < 100; i++)
		add(&log, "Epoch %d, chunk [%2d/25] nll %d.25", i / 25 + 1, i % 25, 9 - i / 20);
	find(&log);
	CHECK_INT(log.found, 1);
	struct span step = log.shapes[0].metrics[0].definition.step_regex;
	CHECK(span_find(step, SPAN("(?<epoch>")) >= 0);
	CHECK(span_find(step, SPAN("(?<step>")) > span_find(step, SPAN("(?<epoch>")));
	check_reads(&log, &log.shapes[0], 100);
}

TEST(columns_without_names_are_called_by_their_place)
{
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < 60; i++)
		add(&log, "%d\t%.4f\t%.5f", i, 2.0 + i % 11, 0.25 + i % 7);
	find(&log);
	CHECK_INT(log.found, 1);
	CHECK(metric(&log.shapes[0], "value_2") && metric(&log.shapes[0], "value_3"));
	CHECK_INT(log.shapes[0].metric_count, 2);
	check_reads(&log, &log.shapes[0], 60);
}

TEST(a_word_between_two_numbers_names_the_second)
{
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < 60; i++)
		add(&log, "#%d xent^%d.5^ in %d.25 s, %dms", i, 9 - i / 10, i % 7, 100 + i % 3);
	find(&log);
	CHECK_INT(log.found, 1);
	CHECK_INT(log.shapes[0].has_step, true);
	CHECK_DOUBLE(metric(&log.shapes[0], "xent")->value, 4.5); /* 9 - 59 / 10 */
	CHECK_DOUBLE(metric(&log.shapes[0], "s")->value, 3.25); /* 59 % 7 */
	CHECK_DOUBLE(metric(&log.shapes[0], "ms")->value, 102); /* 59 % 3 */
	CHECK_INT(log.shapes[0].metric_count, 3);
	check_reads(&log, &log.shapes[0], 60);
}

TEST(words_that_vary_do_not_part_a_shape)
{
	static const char *const users[] = {"ann", "bob", "cem", "dov", "eva", "fay"};
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < 60; i++)
		add(&log, "from %s here: update %d reward %d.5", users[i % 6], i, i % 8);
	find(&log);
	CHECK_INT(log.found, 1);
	CHECK_INT(log.shapes[0].count, 60);
	check_reads(&log, &log.shapes[0], 60);
}

TEST(the_parts_of_a_progress_bar_are_looked_at)
{
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < 10; i++)
		add(&log,
			"\r\x1b[32m %d%%|\xe2\x96\x88\xe2\x96\x88   | %d/20 cost=%d.5\x1b[0m\r %d%%|\xe2\x96\x88  | %d/20 cost=%d.25",
			10 * i, 2 * i, i % 5, 10 * i + 5, 2 * i + 1, i % 5);
	find(&log);
	CHECK_INT(log.found, 1);
	CHECK_INT(log.shapes[0].count, 20);
	CHECK(metric(&log.shapes[0], "cost") != NULL);
	CHECK(span_find_char(log.shapes[0].example, '\x1b') < 0);
}

TEST(places_settings_and_constants_are_no_metrics)
{
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < 50; i++) {
		add(&log, "pid: %d port=%d rank %d 10.0.0.%d 12:00:%02d", 4000 + 7 * i % 50, 29500 + i % 3, i % 8, i,
			i);
		add(&log, "seed 1 width 512 loss 2.5");
		add(&log, "r7i2n6:%d:%d [1] NCCL INFO Channel %d/32 speed %d.5", 4000 + i, 5000 + 3 * i % 70, i % 32,
			i);
	}
	find(&log);
	CHECK_INT(log.found, 0);
}

TEST(fewer_lines_than_the_least_are_no_curve)
{
	for (int lines = SHAPE_LINES_LEAST - 1; lines <= SHAPE_LINES_LEAST; lines++) {
		AUTO_DONE(log) log = {0};
		for (int i = 0; i < lines; i++)
			add(&log, "cost %d.5", i);
		find(&log);
		CHECK_INT(log.found, lines == SHAPE_LINES_LEAST);
	}
}

TEST(no_more_lines_are_looked_at_than_the_most)
{
	AUTO_DONE(log) log = {0};

	for (int i = 0; i < SHAPES_LINES_MAX + 100; i++)
		add(&log, "cost %d.5", i);
	find(&log);
	CHECK_INT(log.found, 1);
	CHECK_INT(log.shapes[0].count, SHAPES_LINES_MAX);
	CHECK_INT(log.shapes[0].line, SHAPES_LINES_MAX - 1);
}

TEST(nothing_is_found_in_nothing_and_in_noise)
{
	AUTO_DONE(log) log = {0};
	uint64_t random = 1;

	find(&log);
	CHECK_INT(log.found, 0);
	for (int i = 0; i < 500; i++) {
		char bytes[200];
		for (size_t j = 0; j < sizeof bytes; j++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			bytes[j] = (char)(random >> 33);
		}
		log.lines[log.count++] = arena_copy(log.arena, span_of(bytes, sizeof bytes));
	}
	find(&log);
	CHECK_INT(log.found, 0);
}

TEST(a_line_of_ten_thousand_pairs_is_bounded)
{
	AUTO_DONE(log) log = {0};
	AUTO_DONE(buf) text = BUF_INIT(4 << 20);

	for (int i = 0; i < 10000; i++)
		buf_printf(&text, "name%d=%d.5 ", i, i);
	log.arena = arena_new();
	for (int i = 0; i < 20; i++) {
		struct span line = arena_copy(log.arena, buf_span(&text));
		((char *)line.ptr)[6] = (char)('0' + i % 10);
		log.lines[log.count++] = line;
	}
	find(&log);
	CHECK_INT(log.found, 1);
	CHECK(log.shapes[0].metric_count <= SHAPE_METRICS_MAX);
}

TEST(want_of_memory_is_said_whenever_it_comes)
{
	AUTO_DONE(log) log = {0};
	enum status status = ERR_MEMORY;
	struct error err = {0};

	for (int i = 0; i < 40; i++)
		add(&log, "\x1b[1mEpoch %d\x1b[0m, chunk %d/10 xent %d.5", i / 10, i % 10, i % 7);
	for (long nth = 1; status == ERR_MEMORY; nth++) {
		AUTO(arena) arena = arena_new();
		mem_fail_at(nth);
		status = shapes_find(arena, log.lines, log.count, MATCH_STEPS, log.shapes, &log.found, &err);
		mem_fail_at(0);
		CHECK(status == OK || status == ERR_MEMORY);
		CHECK(nth < 1000);
	}
	CHECK_INT(log.found, 1);
}
