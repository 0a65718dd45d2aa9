/*
 * Job: the table that lm-evaluation-harness prints (make_table in lm_eval/utils.py, 0.3 to 0.4.13), line by line, with the line above it that says
 *      which model it evaluated (lm_eval/_cli/run.py). Pure.
 *
 *   hf (pretrained=/ckpt/checkpoint-500,dtype=bfloat16), gen_kwargs: (None), limit: None, num_fewshot: None, batch_size: 8
 *   |  Tasks  |Version|     Filter     |n-shot|  Metric   |   |Value |   |Stderr|
 *   |---------|------:|----------------|-----:|-----------|---|-----:|---|-----:|
 *   |gsm8k    |      3|flexible-extract|     5|exact_match|↑  |0.3750|±  |0.0130|
 *   |         |       |strict-match    |     5|exact_match|↑  |0.2500|±  |0.0120|
 *   | - stem  |      2|none            |      |acc        |↑  |0.3500|±  |0.0080|
 *
 * Ownership: a value; texts of a score are the state's or the line's. Threads: one at a time.
 */
#pragma once

#include "base/codec/pack.h"
#include "model/jobs/evaluation.h"

enum { EVALUATION_TABLE_GAP_LINES = 16 /* of other ranks, between two of its lines */ };

enum evaluation_column {
	EVALUATION_TASK,
	EVALUATION_FILTER,
	EVALUATION_SHOTS,
	EVALUATION_METRIC,
	EVALUATION_BETTER,
	EVALUATION_VALUE,
	EVALUATION_ERROR,
	EVALUATION_COLUMN_COUNT
};

/* Zeros: nothing was seen. */
struct evaluation_table {
	uint64_t line; /* the last one that was its; see `is_near` */
	uint8_t columns; /* of the table; 0: there is none */
	uint8_t at[EVALUATION_COLUMN_COUNT]; /* which column, from 1; 0: it has none */
	bool is_part; /* the task is below a group that has a score */
	bool has_scored_group;
	uint16_t path_len, task_len;
	char path[EVALUATION_PATH_BYTES]; /* of the model */
	char task[EVALUATION_NAME_BYTES];
	char metric[2 * EVALUATION_NAME_BYTES + 1]; /* of the score; not kept */
};

/* A line that it can begin with: nothing has to be kept before it. */
bool evaluation_table_may_begin(struct span text);
/* Each line, cheaply where it is none of it. True: *out is a score, with all but its step, suite and times. */
bool evaluation_table_see(
	struct evaluation_table *table, struct span text, uint64_t line, struct evaluation_score *out);
void evaluation_table_pack(const struct evaluation_table *table, struct buf *out);
void evaluation_table_unpack(struct evaluation_table *table, struct unpacker *in);
