/* Records over several lines: what a table's rows, a box, an object or a title say of the values in them. */
#include "auto_stream.h"
#include "extract/generic/generic.h"
#include "extract/generic/records.h"

enum { TEXT_BYTES = 1 << 16, WAITING_MAX = 600 };

struct waiting {
	char text[96];
};

/* A stream of lines and what was read so far, as "STEP NAME=VALUE"; "-" where the log says no step. */
struct reading {
	struct record_state state;
	bool restarts; /* between any two lines */
	uint64_t line;
	struct waiting waiting[WAITING_MAX];
	size_t waiting_count;
	char out[TEXT_BYTES];
	size_t len;
};

static struct reading *reading_new(void)
{
	struct reading *reading = mem_zeroed(sizeof *reading);

	CHECK(reading);
	return reading;
}

static void reading_free(struct reading *reading)
{
	mem_free(reading);
}
AUTO_TYPE(reading)

static void say(struct reading *reading, bool has_step, int64_t step, const char *text)
{
	char number[24] = "-";

	if (has_step)
		snprintf(number, sizeof number, "%lld", (long long)step);
	int len = snprintf(reading->out + reading->len, TEXT_BYTES - reading->len, "%s %s\n", number, text);
	CHECK(len > 0 && (size_t)len < TEXT_BYTES - reading->len);
	reading->len += (size_t)len;
}

static void end_record(struct reading *reading, const struct block_end *end)
{
	for (size_t i = 0; end->is_there && i < reading->waiting_count && (end->has_step || !end->is_dropped); i++)
		say(reading, end->has_step, end->step, reading->waiting[i].text);
	if (end->is_there)
		reading->waiting_count = 0;
}

static void take_value(
	struct reading *reading, const struct generic_line *line, const struct generic_value *value, bool waits)
{
	struct span name = generic_definitions[value->series].name;
	char text[96];

	if (span_equal(name, SPAN("*")))
		name = value->name;
	CHECK(name.len < 70);
	snprintf(text, sizeof text, "%.*s=%g", SPAN_ARGS(name), value->value);
	if (!waits) {
		say(reading, line->counters.has_step, line->counters.step, text);
		return;
	}
	CHECK(reading->waiting_count < WAITING_MAX);
	memcpy(reading->waiting[reading->waiting_count++].text, text, sizeof text);
}

static void restart(struct reading *reading)
{
	AUTO_DONE(buf) state = BUF_INIT(1 << 20);

	records_pack(&reading->state, &state);
	reading->state = (struct record_state){0};
	struct unpacker in = unpacker_on(buf_span(&state));
	records_unpack(&reading->state, &in);
	CHECK_OK(unpacker_end(&in, "state", &err));
}

static void read_line(struct reading *reading, struct span text)
{
	struct record_line record;
	AUTO_MEM struct tokens *tokens = mem_zeroed(sizeof *tokens);
	AUTO_MEM struct generic_line *line = mem_zeroed(sizeof *line);

	CHECK(tokens && line);
	bool is_read = generic_may_have(text);
	if (is_read) {
		tokens_find(text, tokens);
		is_read = generic_read(tokens, line);
	}
	records_read(&reading->state, text, reading->line++, is_read, tokens, line, &record);
	end_record(reading, &record.end);
	for (size_t i = 0; i < line->count; i++)
		take_value(reading, line, &line->values[i], record.waits);
	if (reading->restarts)
		restart(reading);
}

static void read_text(struct reading *reading, const char *text)
{
	struct span rest = span_from(text), line;

	while (span_next(&rest, '\n', &line))
		if (line.len)
			read_line(reading, line);
}

/* With and without a restart between any two lines. */
static void check_reading(const char *text, const char *expected)
{
	for (int restarts = 0; restarts <= 1; restarts++) {
		AUTO(reading) reading = reading_new();
		reading->restarts = restarts;
		read_text(reading, text);
		CHECK_TEXT(reading->out, expected);
	}
}

TEST(a_row_has_its_names_from_the_header)
{
	check_reading("  epoch    train_loss    valid_acc    valid_loss     dur\n"
		      "-------  ------------  -----------  ------------  ------\n"
		      "      1        0.6931       0.5125        0.6902  0.0512\n"
		      "saved the model\n"
		      "      2        0.6512       0.6250        0.6601  0.0498\n",
		"1 train:loss=0.6931\n1 valid_acc=0.5125\n1 val:loss=0.6902\n1 dur=0.0512\n"
		"2 train:loss=0.6512\n2 valid_acc=0.625\n2 val:loss=0.6601\n2 dur=0.0498\n");
}

TEST(a_name_of_a_column_may_have_a_blank)
{
	check_reading("      Iter       Train Loss   Remaining Time \n"
		      "         1           1.2500            5.43s\n"
		      "         2           1.1250            5.21s\n",
		"1 train:loss=1.25\n2 train:loss=1.125\n");
	check_reading("step loss acc\n1 2.5 0.25\n2 2.25 0.5\n",
		"1 train:loss=2.5\n1 acc=0.25\n2 train:loss=2.25\n2 acc=0.5\n");
}

TEST(bars_divide_columns_in_a_frame_and_without)
{
	check_reading(
		"| epoch | train loss | top1 |\n|-------|:----------:|-----:|\n|     1 |     6.5000 | 12.5 |\n|     2 |     "
		"6.2500 |  N/A |\n",
		"1 train:loss=6.5\n1 top1=12.5\n2 train:loss=6.25\n");
	check_reading("step | loss | lr\n10 | 2.5 | 1e-3\n", "10 train:loss=2.5\n10 train:lr=0.001\n");
	check_reading("┏━━━━━━━┳━━━━━━┓\n┃ epoch ┃ loss ┃\n┡━━━━━━━╇━━━━━━┩\n│ 3     │ 0.25 │\n└───────┴──────┘\n",
		"3 train:loss=0.25\n");
}

TEST(a_row_may_have_a_full_bar_behind_it)
{
	check_reading(
		"      Epoch    GPU_mem   box_loss   cls_loss       Size\n"
		"        1/3      3.51G       1.25        2.5        640:  50%|##   | 1/2 [00:01<00:01,  1.0it/s]\n"
		"        1/3      3.51G       1.25        2.5        640: 100%|#####| 2/2 [00:02<00:00,  1.0it/s]\n"
		"        2/3      3.51G      1.125       2.25        640: 100% \u2501\u2501\u2501 2/2 5.0it/s 20.1s\n",
		"1 train:steps_per_second=1\n1 box_loss=1.25\n1 cls_loss=2.5\n2 box_loss=1.125\n2 cls_loss=2.25\n");
}

TEST(a_batch_beside_its_epoch_is_the_step)
{
	check_reading("epoch  batch    loss\n1      10/50    2.5\n", "10 train:loss=2.5\n");
}

TEST(a_box_says_its_step_anywhere)
{
	check_reading("----------------------------\n"
		      "| rollout/         |       |\n"
		      "|    ep_rew_mean   | 21.5  |\n"
		      "| time/            |       |\n"
		      "|    iterations    | 3     |\n"
		      "|    total_timesteps | 6144 |\n"
		      "| train/           |       |\n"
		      "|    value_loss    | 0.75  |\n"
		      "----------------------------\n"
		      "saved\n",
		"6144 rollout/ep_rew_mean=21.5\n6144 train/value_loss=0.75\n");
	check_reading(
		"---------------------------------\n|             Epoch |        12 |\n|      AverageReturn |     91.25 |\n"
		"|         StdReturn |       120 |\n---------------------------------\n",
		"12 AverageReturn=91.25\n12 StdReturn=120\n");
}

TEST(a_grid_ends_with_the_next_line_or_grid)
{
	check_reading(
		"+-----------+------+\n| iteration | 4    |\n+-----------+------+\n| reward    | 1.5  |\n+-----------+------+\n"
		"+-----------+------+\n| iteration | 5    |\n+-----------+------+\n| reward    | 2.5  |\n+-----------+------+\n"
		"next\n",
		"4 reward=1.5\n5 reward=2.5\n");
}

/* A rule under several lines may be the last one; what stands below it in the same frame is of the same step. */
TEST(a_rule_under_several_lines_may_be_the_end)
{
	check_reading("+------+------+\n| step | 20   |\n| loss | 2.5  |\n+------+------+\n", "20 train:loss=2.5\n");
	check_reading("+------+------+\n| step | 20   |\n| loss | 2.5  |\n+------+------+\n| acc  | 0.25 |\n"
		      "+------+------+\ndone\n",
		"20 train:loss=2.5\n20 acc=0.25\n");
	check_reading(
		"+------+------+\n| step | 20   |\n| loss | 2.5  |\n+------+------+\n| step | 30   |\n| loss | 2.25 |\n"
		"+------+------+\n",
		"20 train:loss=2.5\n30 train:loss=2.25\n");
	check_reading(
		"+------+------+\n| loss | 2.5  |\n| step | 20   |\n+------+------+\n| loss | 2.25 |\n| step | 30   |\n"
		"+------+------+\n+------+------+\n",
		"20 train:loss=2.5\n30 train:loss=2.25\n");
	check_reading("+------+------+\n| acc  | 0.5  |\n| loss | 2.5  |\n+------+------+\n| step | 20   |\n"
		      "+------+------+\n+------+------+\n",
		"20 acc=0.5\n20 train:loss=2.5\n");
}

TEST(names_and_values_may_stand_by_turns_in_a_line)
{
	check_reading("Step 7/500 done.\n"
		      "╒═══════════╤══════════╤══════════════╤══════════╕\n"
		      "│ actor/kl  │ 2.50e-01 │ actor/reward │ 5.00e-01 │\n"
		      "├───────────┼──────────┼──────────────┼──────────┤\n"
		      "│ grad_norm │ 1.25e+00 │              │          │\n"
		      "╘═══════════╧══════════╧══════════════╧══════════╛\n",
		"7 actor/kl=0.25\n7 actor/reward=0.5\n7 train:grad_norm=1.25\n");
}

TEST(a_frame_may_have_one_cell_with_a_gap)
{
	check_reading(
		"╭──────────────────────────────╮\n│ Training result              │\n├──────────────────────────────┤\n"
		"│ checkpoint_dir_name          │\n│ time_this_iter_s        4.25 │\n│ training_iteration         3 │\n"
		"│ train_loss             0.625 │\n╰──────────────────────────────╯\n",
		"3 time_this_iter_s=4.25\n3 train:loss=0.625\n");
}

TEST(columns_between_rules_are_a_record)
{
	check_reading(
		"------------------------  --------\nEvaluation/AverageReturn   91.25\nEvaluation/Iteration       12\n"
		"Policy/Entropy              1.5\n------------------------  --------\n",
		"12 Evaluation/AverageReturn=91.25\n12 Policy/Entropy=1.5\n");
}

TEST(an_object_over_lines_is_a_record)
{
	check_reading(
		"{\n  \"loss\": 0.25,\n  \"step\": 12,\n  \"name\": \"run 7\",\n  \"betas\": [0.9, 0.95],\n  \"acc\": 0.5\n}\n",
		"12 train:loss=0.25\n12 acc=0.5\n");
	check_reading(
		"Metrics: {\n  \"epoch\": 3,\n  \"policy\": {\n    \"reward\": 0.25\n  },\n  \"critic\": {\n    \"value_loss\": 0.5\n  "
		"}\n}\nnext\n",
		"3 policy/reward=0.25\n3 critic/value_loss=0.5\n");
	check_reading("{'accuracy': 0.25,\n 'entropy': 1.5,\n 'step': 40}\n", "40 accuracy=0.25\n40 entropy=1.5\n");
}

TEST(each_object_of_a_list_has_its_own_step)
{
	check_reading(
		"{\n \"log_history\": [\n  {\n   \"step\": 10,\n   \"reward\": 0.25\n  },\n  {\n   \"step\": 20,\n   \"reward\": 0.5\n  "
		"}\n ]\n}\n",
		"10 reward=0.25\n20 reward=0.5\n");
}

TEST(indented_lines_under_a_title_are_a_record)
{
	check_reading(
		"Result for PPO_CartPole-v1_1b2c3_00000:\n  date: 2022-07-01_12-00-00\n  done: false\n  episode_reward_mean: 22.5\n"
		"  info:\n    learner:\n      entropy: 0.625\n  training_iteration: 4\n  trial_id: 1b2c3_00000\n"
		"Result for PPO_CartPole-v1_1b2c3_00000:\n",
		"4 episode_reward_mean=22.5\n4 learner/entropy=0.625\n");
}

TEST(a_step_above_is_that_of_the_values_below)
{
	check_reading("========================= Step 12/300 =========================\n"
		      "Training Results:\n  Reward: 0.25\n  Entropy: 1.5\n",
		"12 Reward=0.25\n12 Entropy=1.5\n");
}

TEST(columns_may_be_splits)
{
	check_reading(
		"Epoch 3/20\n           Training |  Validation\naccuracy |     0.750  |     0.625\nmemory   |    120.5   |       "
		"N/A\nloss     |     0.500  |     0.625\n",
		"3 accuracy=0.75\n3 val:accuracy=0.625\n3 memory=120.5\n3 train:loss=0.5\n3 val:loss=0.625\n");
	check_reading(
		"│  Validate metric  │    DataLoader 0   │\n├───────────────────┼───────────────────┤\n│     val_loss      │     0.3125       "
		" │\n",
		"- val:loss=0.3125\n");
}

/* What stands in tables of other things. */
TEST(a_table_without_a_step_gives_nothing)
{
	static const char *const texts[] = {
		"+-----------------------------------------------------------------------------+\n"
		"| NVIDIA-SMI 535.54.03    Driver Version: 535.54.03    CUDA Version: 12.2     |\n"
		"|-------------------------------+----------------------+----------------------+\n"
		"| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
		"|   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |                    0 |\n"
		"| N/A   34C    P0    62W / 400W |   1234MiB / 81920MiB |     87%      Default |\n"
		"+-------------------------------+----------------------+----------------------+\n",
		"+---------------+-------+\n| learning_rate | 0.001 |\n| dropout       | 0.1   |\n+---------------+-------+\n",
		"total 24\n-rw-r--r--  1 root  root   4096 Jun 25 12:00 model.pt\ndrwxr-xr-x  2 root  root   4096 Jun 25 12:00 runs\n",
		"  | Name  | Type   | Params\n--------------------------------\n0 | model | Linear | 7850\n1 | head  | Linear | 650\n",
		"Model     Batch   Latency   Throughput\n-----     -----   -------   ----------\nresnet    32      12.5      2560\n",
		"| model | size | params | test | t/s |\n|-------|------|--------|------|-----|\n| llama | 3.5  | 7 | pp512 | 120.5 |\n",
		"┃ Prompt ┃ Completion ┃ Reward ┃\n│ What is 2 + 2 │ It is 4. │ 1.00 │\n",
	};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		check_reading(texts[i], "");
}

TEST(a_sentence_is_no_header_and_no_row)
{
	check_reading("epoch    loss\n1        2.5\nthe step of the loss is shown below\n2        2.25\nabout 3\n",
		"1 train:loss=2.5\n2 train:loss=2.25\n");
}

static void append_columns(struct buf *out, size_t count, bool is_header)
{
	buf_append_text(out, is_header ? "step" : "7");
	for (size_t i = 1; i < count; i++)
		buf_printf(out, is_header ? " | loss_%zu" : " | 0.%zu", i + 100);
	buf_append_char(out, '\n');
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

TEST(a_table_has_so_many_columns_and_no_more)
{
	for (size_t past = 0; past <= 1; past++) {
		AUTO(reading) reading = reading_new();
		AUTO_DONE(buf) text = BUF_INIT(1 << 16);
		append_columns(&text, CELLS_MAX + past, true);
		append_columns(&text, CELLS_MAX + past, false);
		buf_append_char(&text, '\0');
		read_text(reading, text.ptr);
		CHECK_INT(count_lines(reading->out), past ? 0 : CELLS_MAX - 1);
	}
}

TEST(a_name_in_a_table_has_so_many_bytes_and_no_more)
{
	for (size_t past = 0; past <= 1; past++) {
		AUTO(reading) reading = reading_new();
		char text[256];
		snprintf(text, sizeof text, "step  loss  acc_%0*d\n1  2.5  0.25\n",
			(int)(GENERIC_NAME_MAX_BYTES + past - 4), 0);
		read_text(reading, text);
		CHECK_INT(count_lines(reading->out) > 0, !past);
	}
}

TEST(a_header_has_so_many_bytes_and_no_more)
{
	for (size_t past = 0; past <= 1; past++) {
		AUTO(reading) reading = reading_new();
		AUTO_DONE(buf) text = BUF_INIT(1 << 16);
		buf_append_text(&text, "step  loss");
		while (text.len < TABLE_HEADER_MAX_BYTES + past - 4)
			buf_append_char(&text, ' ');
		buf_append_text(&text, " acc\n1  2.5  0.25\n");
		buf_append_char(&text, '\0');
		read_text(reading, text.ptr);
		CHECK_INT(count_lines(reading->out), past ? 0 : 2);
	}
}

TEST(a_header_lives_so_long_and_no_longer)
{
	for (uint64_t past = 0; past <= 1; past++) {
		AUTO(reading) reading = reading_new();
		read_text(reading, "step  loss\n1  2.5\n");
		reading->line += TABLE_LINES - 1 + past;
		read_text(reading, "2  2.25\n");
		CHECK_TEXT(reading->out, past ? "1 train:loss=2.5\n" : "1 train:loss=2.5\n2 train:loss=2.25\n");
	}
}

TEST(a_header_of_splits_lives_so_long_and_no_longer)
{
	for (uint64_t past = 0; past <= 1; past++) {
		AUTO(reading) reading = reading_new();
		read_text(reading, "           Training |  Validation\n");
		reading->line += TABLE_SPLIT_LINES - 1 + past;
		read_text(reading, "loss     |     0.500  |     0.625\n");
		CHECK_TEXT(reading->out, past ? "" : "- train:loss=0.5\n- val:loss=0.625\n");
	}
}

TEST(a_title_has_so_many_bytes_and_no_more)
{
	for (size_t past = 0; past <= 1; past++) {
		AUTO(reading) reading = reading_new();
		AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);
		buf_append_text(&text, "Result of ");
		while (text.len < BLOCK_TITLE_MAX_BYTES + past - 1)
			buf_append_char(&text, 'x');
		buf_append_text(&text, ":\n  reward: 0.25\n  training_iteration: 4\nend\n");
		buf_append_char(&text, '\0');
		read_text(reading, text.ptr);
		CHECK_TEXT(reading->out, past ? "- reward=0.25\n" : "4 reward=0.25\n");
	}
}

TEST(a_step_above_holds_so_long_and_no_longer)
{
	for (uint64_t past = 0; past <= 1; past++) {
		AUTO(reading) reading = reading_new();
		read_text(reading, "=== Step 12/300 ===\n");
		reading->line += RECORD_STEP_LINES - 1 + past;
		read_text(reading, "reward: 0.25\n");
		CHECK_TEXT(reading->out, past ? "- reward=0.25\n" : "12 reward=0.25\n");
	}
}

TEST(a_record_has_so_many_lines_and_no_more)
{
	for (size_t past = 0; past <= 1; past++) {
		AUTO(reading) reading = reading_new();
		AUTO_DONE(buf) text = BUF_INIT(1 << 16);
		buf_append_text(&text, "{\n");
		for (size_t i = 0; i + 3 < BLOCK_LINES_MAX + past; i++)
			buf_printf(&text, "\"loss_%zu\": 0.%zu,\n", i + 100, i + 100);
		buf_append_text(&text, "\"step\": 7\n}\n");
		buf_append_char(&text, '\0');
		read_text(reading, text.ptr);
		CHECK_INT(count_lines(reading->out), past ? 0 : BLOCK_LINES_MAX - 3);
	}
}

TEST(names_are_told_apart_to_a_depth)
{
	for (size_t past = 0; past <= 1; past++) {
		AUTO(reading) reading = reading_new();
		AUTO_DONE(buf) text = BUF_INIT(1 << 16);
		buf_append_text(&text, "{\n");
		for (size_t i = 1; i < BLOCK_DEPTH_MAX + past; i++)
			buf_printf(&text, "\"part%zu\": {\n", i);
		buf_append_text(&text, "\"reward\": 0.25, \"step\": 7\n");
		for (size_t i = 0; i < BLOCK_DEPTH_MAX + past; i++)
			buf_append_text(&text, "}\n");
		buf_append_char(&text, '\0');
		read_text(reading, text.ptr);
		CHECK_TEXT(reading->out, past ? "7 reward=0.25\n" : "7 part7/reward=0.25\n");
	}
}

TEST(a_damaged_state_is_refused)
{
	AUTO(reading) reading = reading_new();
	AUTO_DONE(buf) state = BUF_INIT(1 << 20);

	read_text(reading, "step  loss\n1  2.5\n{\n\"a\": {\n\"loss\": 2.5,\n");
	records_pack(&reading->state, &state);
	for (size_t len = 0; len < state.len; len++) {
		struct record_state other = {0};
		struct unpacker in = unpacker_on(span_of(state.ptr, len));
		records_unpack(&other, &in);
		CHECK(in.has_failed);
	}
}

/* ---- a stream of its own, which nobody has said the format of ---- */

TEST(a_stream_of_a_table_has_its_curves)
{
	for (int restarts = 0; restarts <= 1; restarts++) {
		AUTO_DONE(stream) stream = auto_stream();
		feed_text(&stream,
			"loading 12 shards\n"
			"  epoch    train_loss    valid_acc    valid_loss     dur\n"
			"-------  ------------  -----------  ------------  ------\n"
			"      1        \x1b[36m0.6931\x1b[0m       0.5125        0.6902  0.0512\n"
			"saved the model to /tmp/m-1.pt\n"
			"      2        0.6512       0.6250        0.6601  0.0498\n"
			"saved the model to /tmp/m-2.pt\n"
			"      3        0.6250       0.6500        0.6500  0.0502\n",
			restarts);
		check_series(&stream, "train:loss", "1=0.6931 2=0.6512 3=0.625");
		check_series(&stream, "val:loss", "1=0.6902 2=0.6601 3=0.65");
		check_series(&stream, "valid_acc", "1=0.5125 2=0.625 3=0.65");
	}
}

/* Rows may look like lines of before that said nothing. */
TEST(a_header_makes_rows_of_what_said_nothing)
{
	AUTO_DONE(stream) stream = auto_stream();

	feed_text(&stream, "1  0.25\n2  0.5\n3  0.75\nstep  loss\n4  2.5\n5  2.25\n", false);
	check_series(&stream, "train:loss", "4=2.5 5=2.25");
}

static const char *const boxes = "------------------------------\n"
				 "|             Epoch |      %d |\n"
				 "|     AverageReturn |  9%d.25 |\n"
				 "|            LossPi |  0.%d25 |\n"
				 "------------------------------\n"
				 "Saving.\n";

TEST(boxes_of_a_stream_are_its_steps)
{
	for (int restarts = 0; restarts <= 1; restarts++) {
		AUTO_DONE(stream) stream = auto_stream();
		for (int i = 1; i <= 4; i++) {
			char text[512];
			snprintf(text, sizeof text, boxes, i, i, i);
			feed_text(&stream, text, restarts);
		}
		check_series(&stream, "AverageReturn", "1=91.25 2=92.25 3=93.25 4=94.25");
		check_series(&stream, "LossPi", "1=0.125 2=0.225 3=0.325 4=0.425");
	}
}

TEST(titles_come_again_and_again)
{
	AUTO_DONE(stream) stream = auto_stream();

	for (int i = 1; i <= 4; i++) {
		char text[512];
		snprintf(text, sizeof text,
			"Result for trial_1:\n  date: 2022-07-01\n  done: false\n  info:\n    learner:\n      entropy: 0.%d25\n"
			"  training_iteration: %d\n\n",
			i, i);
		feed_text(&stream, text, false);
	}
	feed_text(&stream, "done\n", false);
	check_series(&stream, "learner/entropy", "1=0.125 2=0.225 3=0.325 4=0.425");
}

TEST(objects_over_lines_have_curves_behind_a_prefix_too)
{
	AUTO_DONE(stream) stream = auto_stream();

	for (int i = 1; i <= 3; i++) {
		char text[1024];
		snprintf(text, sizeof text,
			"2024-06-25T12:34:56.123456789Z stdout F {\n"
			"2024-06-25T12:34:56.123456789Z stdout F   \"train\": {\n"
			"2024-06-25T12:34:56.123456789Z stdout F     \"loss\": 0.%d25\n"
			"2024-06-25T12:34:56.123456789Z stdout F   },\n"
			"2024-06-25T12:34:56.123456789Z stdout F   \"step\": %d0\n"
			"2024-06-25T12:34:56.123456789Z stdout F }\n",
			i, i);
		feed_text(&stream, text, false);
	}
	check_series(&stream, "train:loss", "10=0.125 20=0.225 30=0.325");
}

/* Printed once, or the same each time: settings. Without a step: measurements of something else. */
TEST(settings_in_a_box_are_no_curves)
{
	AUTO_DONE(stream) stream = auto_stream();

	for (int i = 0; i < 3; i++)
		feed_text(&stream,
			"+---------------+--------+\n| epoch         | 10     |\n| learning_rate | 0.001  |\n| loss_scale    | 0.1    "
			"|\n+---------------+--------+\n"
			"| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |\n"
			"|   0  NVIDIA A100-SXM...  On   | 00000000:07:00.0 Off |                    0 |\n"
			"| model | tokens/s |\n|-------|----------|\n| llama | 120.5 |\n| qwen | 125.5 |\n"
			"starting\n",
			false);
	CHECK_INT(stream.points.count, 0);
}

/* A configuration that is printed at each start, another each time. */
TEST(settings_under_a_title_are_no_curves)
{
	AUTO_DONE(stream) stream = auto_stream();

	for (int i = 1; i <= 5; i++) {
		char text[512];
		snprintf(text, sizeof text,
			"Contents of the config:\nSOLVER:\n  IMS_PER_BATCH: %d\nPOOLER:\n  POOLER_RESOLUTION: %d\n  LEVELS:\n    "
			"RATIO: 0.%d5\n\nstarting\n",
			i, 2 * i, i);
		feed_text(&stream, text, false);
	}
	CHECK_INT(stream.points.count, 0);
}

/* What the same name was called elsewhere still waits for its reason. */
TEST(settings_under_a_title_are_no_reason_for_what_was_said_before)
{
	AUTO_DONE(stream) stream = auto_stream();

	feed_text(&stream, "step 1 loss: 2.5 zeta: 0.5\nOptions:\n  zeta: 0.5\n\nstep 2 loss: 2.25\n", false);
	check_series(&stream, "train:loss", "1=2.5 2=2.25");
	CHECK_INT(stream.points.count, 2);
}

TEST(metrics_under_a_title_need_no_step)
{
	AUTO_DONE(stream) stream = auto_stream();

	for (int i = 1; i <= 5; i++) {
		char text[512];
		snprintf(text, sizeof text, "Results of the test:\n  accuracy: 0.%d5\n  RATIO: 0.%d5\n\nnext\n", i, i);
		feed_text(&stream, text, false);
	}
	check_series(&stream, "accuracy", "0=0.15 1=0.25 2=0.35 3=0.45 4=0.55");
	CHECK_INT(stream.points.count, 5);
}

TEST(values_without_a_step_in_a_box_go_with_it)
{
	AUTO_DONE(stream) stream = auto_stream();

	for (int i = 1; i <= 3; i++) {
		char text[512];
		snprintf(text, sizeof text,
			"-------------------\n| throughput | %d.5 |\n| latency | %d.25 |\n-------------------\n", i, i);
		feed_text(&stream, text, false);
	}
	feed_text(&stream, "step 12: loss 2.5\n", false);
	check_series(&stream, "train:loss", "12=2.5");
	CHECK_INT(stream.points.count, 1);
}

/* Of torch7's examples: no frame, though it looks like one. */
TEST(a_line_behind_a_bar_is_read_as_any_line)
{
	check_reading(
		" | Epoch: [1][20/5004]    Time 0.312  Err 6.9123  top1  99.609\n", "20 Err=6.9123\n20 top1=99.609\n");
}

TEST(lines_behind_a_bar_have_curves)
{
	AUTO_DONE(stream) stream = auto_stream();

	for (int i = 1; i <= 4; i++) {
		char text[128];
		snprintf(text, sizeof text, " | Epoch: [1][%d0/5004]    Err 6.9%d  top1  99.60%d\n", i, i, i);
		feed_text(&stream, text, false);
	}
	check_series(&stream, "Err", "10=6.91 20=6.92 30=6.93 40=6.94");
}

/* A stray line of another trainer has said another step in between. */
TEST(how_far_an_evaluation_is_belongs_to_the_step_of_who_leads)
{
	AUTO_DONE(stream) stream = auto_stream();

	for (int i = 1; i <= 40; i++) {
		char text[256];
		snprintf(text, sizeof text,
			"Train: 0 [ %d/1251 (  4%%)]  Loss: 6.95 (6.94)  Time: 0.352s,  727.10/s  (0.5s,  512.0/s)  LR: "
			"1.000e-05  Data: 0.010 (0.1)\n",
			10 * i);
		feed_text(&stream, text, false);
	}
	feed_text(&stream,
		"step 7 loss: 2.5 lr: 0.0001\nTest: [   0/48]  Time: 2.1 (2.1)  Loss:  5.1 ( 5.1)  Acc@1: 10.1 ( 10.1)\n",
		false);
	check_series(&stream, "test:loss", "400=5.1");
}
