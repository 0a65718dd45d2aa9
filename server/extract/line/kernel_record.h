/*
 * Job: collectors' records of what a kernel said: whose kernel's it is, what of one is kept, and whether a record only quotes it.
 * Ownership: spans into the line, or into the caller's buf. Threads: any. Pure.
 */
#pragma once

#include "base/buf.h"
#include "extract/line/own_line.h"

enum {
	KERNEL_RECORD_BYTES = 64 << 10, /* so much of a record is read */
	KERNEL_LINES_MAX = 128, /* of more in one record nothing is kept of whose they are */
	KERNEL_PLAIN_BYTES =
		4 * KERNEL_RECORD_BYTES, /* what its texts, and those of records in them, need in `plain` */
	KERNEL_KEPT_BYTES = 8 * KERNEL_RECORD_BYTES /* and what kernel_record_keep makes */
};

/* What is said in it is a kernel's, whatever it says: by its header, or as a record that names the kernel as its program; and names a machine. */
own_line_shape kernel_line_is_sure;

/*
 * A collector's record in the line, of what a kernel said: its machine; MACHINE_OF_NOBODY: it may be one of two. said: the part of the line
 * that matters; "": what a driver says does. The kernel's lines that do not hold it tell nothing of whose it is.
 */
bool kernel_record_find(struct span text, struct span said, struct buf *plain, struct span *host);
/* The same of a program's line that holds said, whatever it says. */
bool kernel_record_find_programs(struct span text, struct span said, struct buf *plain, struct span *host);
/* How a record holds the words that a signature found in it. */
enum record_words {
	RECORD_SAYS, /* as a text of the program's */
	RECORD_IS_OWN, /* in the member that holds the line, which has the shape; or its program is the kernel */
	RECORD_LISTS /* as a pattern: in a member of such a name, or by themselves in a list */
};
enum record_words kernel_record_words(struct span record, struct span said, own_line_shape *shape, struct buf *plain);
/* Of what somebody asks a model, or what that answers, or of a chat: it has a member "prompt" or "completion", a "role" of a conversation, or a "channel" and a "user". */
bool kernel_record_is_sample(struct span record);
/* By such a member a record names that machine; *is_other: one beside its own, so it may be either's. */
bool kernel_record_names_machine(struct span key, struct span value, bool *is_other);
/* A name by which records call the program that wrote a line. */
bool kernel_record_names_program(struct span key);
/* Of which machine it is by its members, whatever its text is; "": they do not say; MACHINE_OF_NOBODY: it may be one of two. */
void kernel_record_machine(struct span record, struct buf *plain, struct span *host);
/* Such a text whose machine stands beside it, as kernel_record_keep writes it; is_sure: so does its program; lines that name their own stay as they are. False: it is
 * larger than a record that is read, or a record that names its own, and stays as a whole. */
bool kernel_record_wrap(struct span text, struct span host, bool is_sure, struct buf *plain, struct buf *out);
/*
 * For a record whose text may accuse a machine (kernel_line_may_accuse) or that has "kernel" for a value. Of a record its text alone is kept as a rule. True: the record says whose it is and the text does not, and *out is what to keep
 * instead: {"message":text,"host":…}, with "program":"kernel" where it is sure; the record as it is, where its machine may be one of two, or it is a sample.
 */
bool kernel_record_keep(struct span record, struct span text, struct buf *plain, struct buf *out);
