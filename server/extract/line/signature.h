/*
 * Job: what log lines say outright: known faults and messages (signatures), and checkpoints that were written. Compiled from
 *      server/data/signatures.json to one immutable set.
 * Ownership: new/free; what is found points into the set and the line. Threads: immutable, shared. Pure.
 *
 * A line costs one pass of a sieve (sieve.h) over texts that some pattern must contain; an expression is tried only where its own
 * text is there. Of several that match the first in the file is meant.
 */
#pragma once

#include "base/buf.h"
#include "base/json/json_read.h"
#include "base/text/regex.h"
#include "extract/line/voice.h"
#include "model/incident.h"

struct signature_set;

enum signature_about {
	SIGNATURE_RUN, /* the program, or what it was given */
	SIGNATURE_NODE, /* the machine that says it, or that the line names */
	SIGNATURE_SYMPTOM, /* that something else, or somebody else, failed */
	SIGNATURE_SERVICE, /* what the platform or the network did */
	SIGNATURE_CHECKPOINT
};

enum { SIGNATURES_MAX = 190 };

struct signature {
	struct span name, title, cause, action, source, pattern;
	enum severity severity;
	enum signature_about about;
	bool is_drain; /* the machine should not be given to the next job */
	bool is_nonfatal; /* of a machine that works on: nothing broke for it */
	bool is_kernel; /* looked for in the kernel's lines alone */
	bool is_check; /* what a check of a machine prints of that machine: no program of a job prints it */
	const struct json *warning_on; /* names of instance types; NULL: none */
	const struct json *presets; /* of a checkpoint: formats that print it by default; NULL: none */
	uint32_t beneath; /* bits of kinds: with an incident of them about, it is part of that */
};

/*
 * {"signatures":[{"name","title","pattern","severity","about","drain"?,"nonfatal"?,"kernel"?,"check"?,"warning_on"?,"beneath"?,"cause","action","source"}],
 * "checkpoints":[{"name","pattern","presets"?,"source"}]}. A group `host` names the machine; of a checkpoint the first group that takes
 * part is the step. ERR_SEMANTIC with the field.
 */
enum status signature_set_new(struct signature_set **out, struct span json, struct error *err) MUST_CHECK;
void signature_set_free(struct signature_set *set);
size_t signature_count(const struct signature_set *set);
const struct signature *signature_at(const struct signature_set *set, size_t index);
/* Of a signature, not of a checkpoint's form. SIZE_MAX: there is none. */
size_t signature_index(const struct signature_set *set, struct span name);
/* Is a save seen in the log of a trainer whose format this preset reads, without more being asked of it? */
bool signature_reads_saves(const struct signature_set *set, struct span preset);
/*
 * "GPU has fallen off the bus on gpu017"; of what is only a symptom "NCCL timeout, first reported by gpu017". host "": "… in stream slurm.out",
 * which is no machine.
 */
void signature_append_summary(struct buf *out, const struct signature *signature, struct span host, struct span stream);
/* At least a warning on some instance types; "" and "ml.p4d.24xlarge" are read, too. */
enum severity signature_severity(const struct signature *signature, struct span instance_type);

struct signature_found {
	size_t index;
	const struct signature *signature;
	struct span said; /* what of the line it is */
	struct span host; /* that the line names; "": none */
	int64_t step; /* of a checkpoint; -1: it says none */
	enum voice voice; /* no quotation */
};
/* is_system: of a kernel's stream. What a line says that is a kernel's for certain (kernel_line.h) counts as of one. */
bool signature_find(const struct signature_set *set, struct regex_scratch *scratch, struct span text, bool is_system,
	struct signature_found *out);

AUTO_TYPE(signature_set)
