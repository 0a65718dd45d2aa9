/*
 * Job: sets of labels of series, sorted by name, and how stored metrics become Prometheus' names and labels (docs/prometheus.md).
 * Ownership: in the caller's arena. Threads: values.
 */
#pragma once

#include "base/arena.h"
#include "base/error.h"
#include "base/json/json_write.h"
#include "prometheus/promql.h"

#define LABELS_NAME "__name__"
#define LABELS_TRAINING "training" /* the name of the job */
#define LABELS_STREAM "stream"

struct prom_label {
	struct span name, value;
};

struct prom_labels {
	struct prom_label *at;
	size_t count;
};

struct span labels_get(const struct prom_labels *labels, struct span name); /* "": not there */
/* Sets or, by "", takes away; the array has room for one more. */
void labels_set(struct prom_labels *labels, struct span name, struct span value);
/* A copy with room for `more`; names and values stay where they are. */
enum status labels_copy(struct prom_labels *out, const struct prom_labels *from, size_t more, struct arena *arena,
	struct error *err) MUST_CHECK;
/* With its texts. */
enum status labels_clone(
	struct prom_labels *out, const struct prom_labels *from, struct arena *arena, struct error *err) MUST_CHECK;
/* Those of the list (keeps), or all but those. The metric's name stays only if the list keeps it. */
enum status labels_cut(struct prom_labels *out, const struct prom_labels *from, const struct promql_labels *list,
	bool keeps, struct arena *arena, struct error *err) MUST_CHECK;
size_t labels_bytes(const struct prom_labels *labels); /* of a clone */
/* Bytes that are equal for equal sets. */
enum status labels_key(
	const struct prom_labels *labels, struct arena *arena, struct span *out, struct error *err) MUST_CHECK;
void labels_write(const struct prom_labels *labels, struct json_writer *w);

/* A metric as it is stored, of a training's stream (training "": of a machine, as Prometheus sent it). */
struct labels_source {
	struct span metric, training, stream;
};
/* Its texts are in the arena, or where `from` has them. */
enum status labels_of(
	struct prom_labels *out, const struct labels_source *from, struct arena *arena, struct error *err) MUST_CHECK;
/* As matcher_fits, of all. */
struct matchers {
	const struct matcher *at;
	size_t count;
	struct regex_scratch *scratch;
};
enum status labels_fit(
	const struct prom_labels *labels, const struct matchers *matchers, bool *fits, struct error *err) MUST_CHECK;
