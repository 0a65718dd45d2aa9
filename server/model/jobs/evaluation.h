/*
 * Job: what an evaluation suite found of a checkpoint, a score for each task and metric, from two kinds of document: the results of
 *      lm-evaluation-harness (lm_eval/result_schema.py of 0.4.13; and as 0.3 wrote them, without filters), and a small one of ours,
 *      {"step", "path", "suite", "n", "evaluated_ms", "scores": {"task/metric": 0.5 or {"value", "stderr", "n", "shots",
 *      "higher_is_better"}}}. Pure.
 * Ownership: texts are the arena's. Threads: values.
 */
#pragma once

#include "base/arena.h"
#include "base/json/json_read.h"

enum {
	EVALUATION_NAME_BYTES = 255, /* of a task, and of a metric */
	EVALUATION_PATH_BYTES = 1024,
	EVALUATION_SCORES_MAX = 10000, /* of one document: they are written in one transaction */
	EVALUATION_SKIPPED_SHOWN = 100
};

#define EVALUATION_SUITE_LOG                                                                                           \
	"log" /* the suite of what was read in a log: what is sent replaces it, and not the other way round */

enum evaluation_step_from {
	EVALUATION_STEP_UNKNOWN,
	EVALUATION_STEP_STATED,
	EVALUATION_STEP_PATH,
	EVALUATION_STEP_LOG, /* where the log was that has the score */
	EVALUATION_STEP_COUNT
};
enum evaluation_lower_from {
	EVALUATION_LOWER_ASSUMED,
	EVALUATION_LOWER_STATED,
	EVALUATION_LOWER_NAME,
	EVALUATION_LOWER_COUNT
};

extern const char *const evaluation_step_from_names[EVALUATION_STEP_COUNT]; /* [0] NULL */
extern const char *const evaluation_lower_from_names[EVALUATION_LOWER_COUNT];

struct evaluation_score {
	bool has_step;
	int64_t step;
	struct span path; /* "": it was not said */
	struct span task;
	struct span metric; /* with its filter, unless that is none */
	int32_t step_from; /* enum evaluation_step_from */
	double value; /* finite */
	double error; /* its standard error; -1: not known */
	int64_t samples, shots; /* -1: not known */
	bool is_lower; /* less is better */
	int32_t lower_from; /* enum evaluation_lower_from */
	bool is_part; /* of a group of tasks that has a score of its own */
	struct span suite; /* "" */
	int64_t evaluated_ms; /* 0: not known */
	int64_t received_ms;
	struct span author;
	struct span series, stream; /* of a log whose prints are the score: it is not stored; "": it is */
};

/* What was understood and has no value: "N/A", NaN, a text. */
struct evaluation_skipped {
	struct span task, metric;
};

struct evaluation {
	struct evaluation_score like; /* what all have: the checkpoint, the suite, when */
	struct evaluation_score *scores;
	size_t count;
	struct evaluation_skipped skipped[EVALUATION_SKIPPED_SHOWN];
	size_t skipped_count; /* of all */
};

/* What the request says beside the document: -1, "": nothing. ERR_SEMANTIC names the field, ERR_TOO_LARGE: too many scores. */
struct evaluation_stated {
	int64_t step;
	struct span path;
};
enum status evaluation_read(struct evaluation *out, const struct json *document, const struct evaluation_stated *stated,
	struct arena *arena, struct error *err) MUST_CHECK;

/* As lm-evaluation-harness and Python's json write it: NaN and the infinities, which JSON does not have, become null. */
void evaluation_mend_json(struct span text, struct buf *out);
/* Of "…/checkpoint-500", "iter_0000500", "step=500.ckpt", "@step500": the last one that is surely one. */
bool evaluation_step_of_path(struct span path, int64_t *step);
bool evaluation_is_lower(struct span metric); /* by its name */
/* "val:loss" is val/loss, "eval_accuracy" eval/accuracy, "eval/downstream/piqa_acc" piqa_acc of eval/downstream; "valloss" is log/valloss. */
void evaluation_split_metric(struct span name, struct span *task, struct span *metric);
/* Of the arguments of a model that lm-evaluation-harness ran: which it was, with its revision behind '@'; nothing where they do not say. */
void evaluation_append_model(
	struct span (*find)(const void *arguments, const char *name), const void *arguments, struct buf *path);
/* Of a struct span: "pretrained=PATH,revision=step1000", "{'pretrained': 'PATH'}". "": it is not there. */
struct span evaluation_argument(const void *arguments, const char *name);
