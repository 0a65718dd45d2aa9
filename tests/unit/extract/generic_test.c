/* Lines that no preset knows, as they come: what is read of them, and what is not. */
#include "helper.h"

enum { LINES = 3, TEXT_BYTES = 1 << 16 };

/* Of the last of three lines: {S} is the step (7, 8, 9), {V} a value (2.5, 2.25, 2.125). */
struct line_case {
	const char *line;
	const char *points; /* "name=value@step", in the order in which they stand; "" none */
};

static struct stream generic_stream(void)
{
	struct definition_set *presets = shipped_presets(), *set = NULL;

	CHECK_OK(definition_set_new(&set, NULL, presets, &err));
	struct stream stream = stream_on(set);
	stream.presets = presets;
	return stream;
}

static void fill(const char *line, int index, struct buf *out)
{
	static const char *const values[LINES] = {"2.5", "2.25", "2.125"};
	struct span rest = span_from(line);

	while (rest.len) {
		if (span_take(&rest, SPAN("{S}"))) {
			buf_printf(out, "%d", 7 + index);
		} else if (span_take(&rest, SPAN("{V}"))) {
			buf_append_text(out, values[index]);
		} else {
			buf_append_char(out, rest.ptr[0]);
			rest = span_skip(rest, 1);
		}
	}
}

/* The points of line number `line`. */
static void points_of(struct stream *s, uint64_t line, struct buf *out)
{
	for (size_t i = 0; i < s->points.count; i++) {
		const struct extracted *item = &s->points.items[i];
		if (item->point.line != line)
			continue;
		if (out->len)
			buf_append_char(out, ' ');
		extractor_series_name(s->extractor, s->set, item->series, out);
		buf_printf(out, "=%.10g@%lld", item->point.value, (long long)item->point.step);
	}
}

static void read_case(const char *line, struct buf *out)
{
	AUTO_DONE(stream) s = generic_stream();
	AUTO_DONE(buf) text = BUF_INIT(TEXT_BYTES);

	for (int i = 0; i < LINES; i++) {
		buf_reset(&text);
		fill(line, i, &text);
		feed_at(&s, buf_span(&text), NO_TIME);
	}
	points_of(&s, LINES - 1, out);
}

static void check_cases(const struct line_case *cases, size_t count)
{
	int wrong = 0;

	for (size_t i = 0; i < count; i++) {
		AUTO_DONE(buf) got = BUF_INIT(TEXT_BYTES);
		read_case(cases[i].line, &got);
		if (span_equal(buf_span(&got), span_from(cases[i].points)))
			continue;
		wrong++;
		printf("%s\n  got  %.*s\n  want %s\n", cases[i].line, SPAN_ARGS(buf_span(&got)), cases[i].points);
	}
	CHECK_INT(wrong, 0);
}

#define CHECK_CASES(cases) check_cases(cases, sizeof(cases) / sizeof *(cases))

TEST(a_name_and_its_number)
{
	static const struct line_case cases[] = {
		{"step {S} loss: {V}", "train:loss=2.125@9"},
		{"step {S} loss={V}", "train:loss=2.125@9"},
		{"step {S} loss {V}", "train:loss=2.125@9"},
		{"loss {V}", "train:loss=2.125@2"},
		{"step {S} | loss {V} | lr 1e-4 | ms/batch {V} | ppl 30{V}",
			"train:loss=2.125@9 train:lr=0.0001@9 train:step_time=2.125@9 ppl=302.125@9"},
		{"{'step': {S}, 'loss': '{V}'}", "train:loss=2.125@9"},
		{"{\"step\": {S}, \"loss\": {V}, \"lr\": 0.0001}", "train:loss=2.125@9 train:lr=0.0001@9"},
		{"step {S} ('loss', {V}) ('acc', 0.5)", "train:loss=2.125@9 acc=0.5@9"},
		{"step {S} (loss, {V})", "train:loss=2.125@9"},
		{"step {S} loss -> {V}", "train:loss=2.125@9"},
		{"step {S} loss=tensor({V}, device='cuda:0')", "train:loss=2.125@9"},
		{"step {S} global_norm: [{V}]", "train:grad_norm=2.125@9"},
		{"step {S} loss: {V}, step_time={V}ms, 1.2k tok/s",
			"train:loss=2.125@9 train:step_time=2.125@9 train:throughput=1200@9"},
		{"step {S} loss: {V} 12,345 tok/s acc: 50%", "train:loss=2.125@9 train:throughput=12345@9 acc=50@9"},
		{"step {S} elapsed time per iteration (ms): 35{V} loss {V}",
			"train:step_time=352.125@9 train:loss=2.125@9"},
		{"step {S} loss: {V} iter time (s): {V}", "train:loss=2.125@9 train:step_time=2125@9"},
		{"step {S} loss: nan", "train:loss=nan@9"},
	};

	CHECK_CASES(cases);
}

TEST(where_the_step_stands)
{
	static const struct line_case cases[] = {
		{"step:{S}K loss: {V}", "train:loss=2.125@9000"},
		{"[   {S}/ 3000] loss: {V}", "train:loss=2.125@9"},
		{"Step {S}/300 | loss: {V}", "train:loss=2.125@9"},
		{"[ITER {S}] loss: {V}", "train:loss=2.125@9"},
		{"(step=000{S}) Train Loss: {V}", "train:loss=2.125@9"},
		{"Epoch 1, batch {S}, loss={V}", "train:loss=2.125@9"},
		{"Epoch: [3][{S}/5005] loss {V} ", "train:loss=2.125@9"},
		{"Epoch:[1/2]({S}/100), loss: {V}", "train:loss=2.125@9"},
		{"epoch 3 | {S}/1000 batches | loss: {V}", "train:loss=2.125@9"},
		{"[1,    {S}] loss: {V}", "train:loss=2.125@9"},
		{"{S} | loss {V}", "train:loss=2.125@9"},
		{"Epoch {S} loss: {V}", "train:loss=2.125@9"},
		{"total steps: 5000 global_step={S} loss: {V}", "train:loss=2.125@9"},
		{"step {S} of 500: loss {V}", "train:loss=2.125@9"},
	};

	CHECK_CASES(cases);
}

TEST(words_before_a_name_belong_to_it)
{
	static const struct line_case cases[] = {
		{"step {S} loss: {V} z_loss: 0.{S} loss_cls: {V}", "train:loss=2.125@9 z_loss=0.9@9 loss_cls=2.125@9"},
		{"step {S} Mean surrogate loss: {V}", "Mean_surrogate_loss=2.125@9"},
		{"step {S} validation: loss={V}", "val:loss=2.125@9"},
		{"step {S} Train loss {V}, Val loss 3.5, test loss: 4",
			"train:loss=2.125@9 val:loss=3.5@9 test:loss=4@9"},
		{"step {S} loss: {V} (2.3) Acc@1 76.{S} (75.0)",
			"train:loss=2.125@9 loss_avg=2.3@9 Acc@1=76.9@9 Acc@1_avg=75@9"},
		{"step {S} total_loss: 3.5 loss: {V}", "total_loss=3.5@9 train:loss=2.125@9"},
		{"INFO step {S} the loss is: {V}", "train:loss=2.125@9"},
	};

	CHECK_CASES(cases);
}

TEST(what_is_no_metric)
{
	static const struct line_case cases[] = {
		{"loaded {S} shards in {V} s", ""},
		{"listening on 10.0.0.{S}:29500", ""},
		{"http://host:{S}/x?loss=1", ""},
		{"torch {V}+cu121, python 3.10.{S}", ""},
		{"2026-11-2{S} 10:00:0{S} checkpoint saved", ""},
		{"addr 0x7f{S} size: {S}", ""},
		{"step {S} loss: 1.234,5", ""},
		{"step {S} loss: 1e999", ""},
		{"step {S} loss: 0x1f", ""},
		{"step {S} seed: {S} rank: {S} port={S}", ""},
		{"ValueError: loss {V} is not finite at step {S}", ""},
		{"torch.cuda.OutOfMemoryError: step {S} loss: {V}", ""},
		{"error 40{S} in /data/run-{S}/loss.pt", ""},
		{"    validation: 44{S}", ""},
		{"    test:       {S}0", ""},
		{"Train on {S}000 samples, validate on {S}00 samples", ""},
		{"# nThread {S} step: 2(factor) warmup iters: 5 iters: 100 validation: {S}", ""},
	};

	CHECK_CASES(cases);
}
