/*
 * Job: what the labels of a shipper say about a line: its job, its stream, its host, its team. Which label says it is four lists of
 *      names, the first that is there wins (options --job-labels, --stream-labels, --host-labels, --team-labels; their defaults are
 *      in app/options.c).
 *      Names are compared without case, and "." "/" "-" are "_": shippers rewrite them. A name of the list that holds one of
 *      those may have anything before it (kubernetes_labels_jobset_sigs_k8s_io_jobset_name).
 *      "index" in the list of streams stands for Kubernetes' numbers of a job's pods: algo-(1 + completion or replica index),
 *      with the type of the replica or the part of the JobSet before it where there is one.
 * Ownership: new/free; a chosen set owns its texts until the next reset. Threads: labels are read-only, a set is one's own.
 */
#pragma once

#include "base/buf.h"

struct ingest_labels;

enum label_role { LABEL_JOB, LABEL_STREAM, LABEL_HOST, LABEL_TEAM, LABEL_ROLES };

/* Each list: names separated by commas; that of teams may be empty. ERR_INVALID: another is, or has too many. */
enum status ingest_labels_new(
	struct ingest_labels **out, const char *const lists[LABEL_ROLES], struct error *err) MUST_CHECK;
void ingest_labels_free(struct ingest_labels *labels);

enum label_index {
	LABEL_COMPLETION_INDEX,
	LABEL_REPLICA_INDEX,
	LABEL_REPLICA_TYPE,
	LABEL_JOBSET_PART,
	LABEL_JOBSET_INDEX,
	LABEL_INDICES
};

/* The labels of one stream, given one by one: whatever their number, this much memory. */
struct label_set {
	const struct ingest_labels *labels;
	unsigned ranks[LABEL_ROLES]; /* of what was found so far */
	struct buf values[LABEL_ROLES], indices[LABEL_INDICES];
	bool is_kernels; /* one says that the kernel wrote the lines */
};

void label_set_init(struct label_set *set, const struct ingest_labels *labels, size_t max_value_bytes);
void label_set_done(struct label_set *set);
void label_set_reset(struct label_set *set);
void label_set_add(struct label_set *set, struct span name, struct span value);
/* All labels are given: a stream that is named by its index gets its name. ERR_MEMORY: a name may be missing. */
enum status label_set_finish(struct label_set *set, struct error *err) MUST_CHECK;
/* Whether a label, or an attribute of one entry, names what no better one did: rank, at first UINT_MAX, is then its own. */
bool label_set_is_better(const struct label_set *set, enum label_role role, struct span name, unsigned *rank);
struct span label_set_value(const struct label_set *set, enum label_role role); /* "": none */

/* Loki's text of labels, {job="x", host="y"}; ERR_INVALID names the byte. */
enum status ingest_labels_parse(
	struct span text, struct label_set *set, struct buf *scratch, struct error *err) MUST_CHECK;

AUTO_TYPE(ingest_labels)
