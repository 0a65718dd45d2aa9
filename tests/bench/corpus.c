#include "corpus.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LINE_MAX_BYTES = 1024, STEP_DIGITS = 8, TIME_CHARACTERS = 19 };
static const time_t first_time = 1767571200; /* 2026-01-05 00:00:00 UTC; a step takes a second */

/* `iteration` and `iter` carry the step of their line, which the others on it inherit. */
const struct corpus_pattern corpus_patterns[CORPUS_PATTERNS] = {
	{"train:loss", "iteration +(?<step>\\d+)/.*?lm loss: (?<value>[-+0-9.E]+)"},
	{"train:grad_norm", "grad norm: ([0-9.]+)"},
	{"train:lr", "learning rate: ([-+0-9.E]+)"},
	{"train:step_time", "elapsed time per iteration \\(ms\\): ([0-9.]+)"},
	{"nano:loss", "^iter (?<step>\\d+): loss (?<value>[0-9.]+)"},
	{"nano:mfu", "mfu ([0-9.]+)%"},
};

/* What makes the lines: xorshift64*, the steps so far, and the line being written. */
struct author {
	struct corpus *corpus;
	uint64_t state;
};

static uint32_t any(struct author *author, uint32_t below)
{
	author->state ^= author->state >> 12;
	author->state ^= author->state << 25;
	author->state ^= author->state >> 27;
	return (uint32_t)((author->state * 0x2545f4914f6cdd1d) >> 32) % below;
}

static double noise(struct author *author)
{
	return ((double)any(author, 1000000) + any(author, 1000000) + any(author, 1000000)) / 1000000 - 1.5;
}

static void write(struct author *author, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void write(struct author *author, const char *format, ...)
{
	struct corpus *corpus = author->corpus;
	va_list arguments;

	va_start(arguments, format);
	corpus->bytes += (size_t)vsnprintf(corpus->text + corpus->bytes, LINE_MAX_BYTES, format, arguments);
	va_end(arguments);
}

static void write_field(struct author *author, int is_time)
{
	struct corpus *corpus = author->corpus;
	int width = is_time ? TIME_CHARACTERS : STEP_DIGITS;

	if (corpus->field_count == corpus->field_cap) {
		corpus->field_cap = corpus->field_cap ? corpus->field_cap * 2 : 1024;
		corpus->fields = realloc(corpus->fields, corpus->field_cap * sizeof *corpus->fields);
		if (!corpus->fields)
			abort();
	}
	corpus->fields[corpus->field_count++] =
		(struct corpus_field){(uint32_t)corpus->bytes, corpus->step_count, is_time};
	write(author, "%*s", width, "");
}

/* Level: when the text starts over nothing jumps, and no detector has a reason to speak. */
static double loss_at(struct author *author)
{
	return 2.3 + 0.02 * noise(author);
}

static void write_megatron(struct author *author)
{
	write(author, " [");
	write_field(author, 1);
	write(author, "] iteration ");
	write_field(author, 0);
	write(author, "/99999999 | consumed samples: %12u | elapsed time per iteration (ms): %.1f | ",
		author->corpus->step_count * 1024, 2263 + 20 * noise(author));
	write(author, "throughput per GPU (TFLOP/s/GPU): %.1f | learning rate: %.6E | global batch size:  1024 | ",
		412 + 4 * noise(author), 3e-4);
	write(author,
		"lm loss: %.6E | loss scale: 1.0 | grad norm: %.3f | num zeros: %u | number of skipped iterations:   0 | "
		"number of nan iterations:   0 |\n",
		loss_at(author), 0.31 + 0.02 * noise(author), any(author, 100000));
}

static void write_nanogpt(struct author *author)
{
	write(author, "iter ");
	write_field(author, 0);
	write(author, ": loss %.4f, time %.2fms, mfu %.2f%%\n", loss_at(author), 226 + 3 * noise(author),
		41 + noise(author));
}

static void write_chatter(struct author *author)
{
	static const char *const modules[] = {
		"attention.py", "transformer_layer.py", "optimizer.py", "pipeline.py", "data_iterator.py"};
	unsigned rank = any(author, 64), node = rank / 8;

	switch (any(author, 6)) {
	case 0:
		write(author,
			"algo-%u:%u:%u [%u] NCCL INFO Channel %02u/0 : %u[%u] -> %u[%u] [send] via NET/OFI/%u/GDRDMA\n",
			node + 1, 100 + rank, 900 + any(author, 90), rank % 8, any(author, 32), rank, rank % 8,
			(rank + 8) % 64, rank % 8, any(author, 4));
		break;
	case 1:
		write(author,
			"[rank%u]: INFO:megatron.core.%s:%u: parameters in bucket %u: %u elements, padded to %u, "
			"reduce-scatter in %u chunks of the data-parallel group\n",
			rank, modules[any(author, 5)], any(author, 900), any(author, 40), any(author, 1 << 28),
			any(author, 1 << 28), any(author, 64));
		break;
	case 2:
		write(author,
			"dataloader worker %u: shard %05u of 04096 opened, %u documents, %.1f MB/s, queue %u of 64\n",
			any(author, 16), any(author, 4096), any(author, 100000), 212 + 30 * noise(author),
			any(author, 65));
		break;
	case 3:
		write(author,
			"    forward-backward: (%.2f, %.2f) forward-compute: (%.2f, %.2f) backward-compute: (%.2f, %.2f) "
			"layernorm-grads-all-reduce: (%.2f, %.2f) optimizer: (%.2f, %.2f)\n",
			2100 + 9 * noise(author), 2120 + 9 * noise(author), 700 + 5 * noise(author),
			705 + 5 * noise(author), 1390 + 5 * noise(author), 1402 + 5 * noise(author),
			0.1 + 0.01 * noise(author), 0.2 + 0.01 * noise(author), 60 + noise(author), 61 + noise(author));
		break;
	case 4:
		write(author,
			"/opt/conda/lib/python3.10/site-packages/torch/distributed/%s:%u: UserWarning: the tensor of rank %u "
			"is not contiguous, it is copied before the collective\n",
			modules[any(author, 5)], any(author, 3000), rank);
		break;
	default:
		write(author,
			"[rank%u]: memory (MB) | allocated: %.2f | max allocated: %.2f | reserved: %u.0 | max reserved: %u.0\n",
			rank, 41000 + 900 * noise(author), 61000 + 100 * noise(author), 70000 + any(author, 1000),
			71000 + any(author, 1000));
	}
}

static void write_line(struct author *author)
{
	unsigned kind = any(author, 40);

	if (kind < 10)
		author->corpus->step_count++;
	if (kind < 6)
		write_megatron(author);
	else if (kind < 10)
		write_nanogpt(author);
	else
		write_chatter(author);
	author->corpus->line_count++;
}

void corpus_init(struct corpus *corpus, size_t bytes, uint64_t seed)
{
	struct author author = {corpus, (seed + 1) * 0x9e3779b97f4a7c15};

	*corpus = (struct corpus){.text = malloc(bytes + LINE_MAX_BYTES)};
	if (!corpus->text)
		abort();
	while (corpus->bytes + LINE_MAX_BYTES < bytes)
		write_line(&author);
	corpus_stamp(corpus, corpus->bytes);
	corpus->next_field = 0;
}

void corpus_done(struct corpus *corpus)
{
	free(corpus->text);
	free(corpus->fields);
	*corpus = (struct corpus){0};
}

void corpus_rewind(struct corpus *corpus)
{
	corpus->first_step += corpus->step_count;
	corpus->next_field = 0;
}

static void put_digits(char *at, uint64_t value, int width)
{
	while (width-- > 0) {
		at[width] = (char)('0' + value % 10);
		value /= 10;
	}
}

static void put_time(char *at, time_t time)
{
	struct tm tm;

	gmtime_r(&time, &tm);
	put_digits(at, (uint64_t)tm.tm_year + 1900, 4);
	at[4] = at[7] = '-';
	put_digits(at + 5, (uint64_t)tm.tm_mon + 1, 2);
	put_digits(at + 8, (uint64_t)tm.tm_mday, 2);
	at[10] = ' ';
	put_digits(at + 11, (uint64_t)tm.tm_hour, 2);
	at[13] = at[16] = ':';
	put_digits(at + 14, (uint64_t)tm.tm_min, 2);
	put_digits(at + 17, (uint64_t)tm.tm_sec, 2);
}

void corpus_stamp(struct corpus *corpus, size_t before)
{
	for (; corpus->next_field < corpus->field_count; corpus->next_field++) {
		const struct corpus_field *field = &corpus->fields[corpus->next_field];
		uint64_t step = corpus->first_step + field->step;
		if (field->offset >= before)
			return;
		if (field->is_time)
			put_time(corpus->text + field->offset, first_time + (time_t)step);
		else
			put_digits(corpus->text + field->offset, step, STEP_DIGITS);
	}
}
