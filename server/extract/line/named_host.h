/*
 * Job: the machine that a line names as its own in what stands in front of it: a syslog's header, pdsh's or clush's name, kubectl's pod,
 *      a collector's record.
 * Ownership: spans into the line, or into the caller's buf. Threads: any. Pure.
 */
#pragma once

#include "base/buf.h"
#include "extract/line/signature.h"

/* How sure it is that a line is of the machine that it names, and not of the one that sent it. */
enum naming {
	NAMING_NONE, /* it names none */
	NAMING_TALK, /* whatever it names, it only talks of that (voice.h): nobody's */
	NAMING_GUESS, /* it may be a word of the program's: of that machine only if it is known as one */
	NAMING_ELSEWHERE, /* of another machine than the sender: that one if it is known, else nobody knows whose */
	NAMING_KERNEL, /* what the kernel's machine calls itself */
	NAMING_SURE
};

/* Of a line in which that was found; what is about no machine is one's only where its kernel says it. *host: "" with NAMING_NONE. It lives as long as the line and `plain`, which fails out of memory. */
enum naming named_host_read(
	struct span text, const struct signature_found *found, struct buf *plain, struct span *host);
/* "[pod/train-0/pytorch] " of kubectl stands in front. */
bool named_host_is_pods(struct span line);

/* Of journald's record of a member a line: where it begins, its machine, and its line. */
enum record_part { RECORD_PART_NONE, RECORD_PART_BEGIN, RECORD_PART_HOST, RECORD_PART_MESSAGE };

/* *host: of RECORD_PART_HOST, if it names a machine; else "". */
enum record_part named_host_record_part(struct span line, struct span *host);
