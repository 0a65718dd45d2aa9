/*
 * Job: what a kernel said, in a log of whatever: behind a syslog's header, in a collector's record; and whose kernel it was.
 * Ownership: spans into the line, or into the caller's buf. Threads: any. Pure.
 */
#pragma once

#include "base/buf.h"

enum {
	KERNEL_RECORD_BYTES = 64 << 10, /* so much of a record is read */
	KERNEL_LINES_MAX = 128, /* of more in one record nothing is kept of whose they are */
	KERNEL_PLAIN_BYTES =
		4 * KERNEL_RECORD_BYTES, /* what its texts, and those of records in them, need in `plain` */
	KERNEL_KEPT_BYTES = 8 * KERNEL_RECORD_BYTES /* and what kernel_record_keep makes */
};

/* "Nov 30 01:10:00 gpu07 kernel: "; *host: what that machine calls itself. */
bool kernel_line_has_header(struct span text, struct span *host);
/* Whether it is worth a look: of nearly every other line a few bytes say that it has none. */
bool kernel_line_may_have_header(struct span text);
/* "Nov 30 01:10:00 gpu07 journal: NVRM: Xid": another program hands on what the kernel said. */
bool kernel_line_is_handed_on(struct span text, struct span *host);
/* With what a driver tells the kernel, and no training prints, or with whom the kernel killed; nothing stands in front. */
bool kernel_line_begins(struct span text);
/* The same; kmsg's and dmesg's parts may stand in front. */
bool kernel_line_is(struct span text);
/* The same, or one stands in quotes, or on a line of its own, in it. */
bool kernel_line_is_quoted(struct span text);
/* What is said in it is a kernel's, whatever it says: by its header, or as a record that names the kernel as its program; and names a machine. */
bool kernel_line_is_sure(struct span text, struct span said);

/*
 * A collector's record in the line, of what a kernel said: its machine; MACHINE_OF_NOBODY: it may be one of two. said: the part of the line
 * that matters; "": what a driver says does. The kernel's lines that do not hold it tell nothing of whose it is.
 */
bool kernel_record_find(struct span text, struct span said, struct buf *plain, struct span *host);
/*
 * For a record whose text is a kernel's (kernel_line_is_quoted) or that has "kernel" for a value. Of a record its text alone is kept as a rule. True: the record says whose kernel's it is and the text does not, and *out is what to keep
 * instead: {"message":text,"host":…}, with "program":"kernel" where it is sure; the record as it is, where its machine may be one of two.
 */
bool kernel_record_keep(struct span record, struct span text, struct buf *plain, struct buf *out);
