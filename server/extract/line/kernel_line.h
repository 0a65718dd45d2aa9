/*
 * Job: what a kernel said, in a log of whatever: behind a syslog's header, dmesg's and kmsg's parts; and whose kernel it was.
 * Ownership: spans into the line. Threads: any. Pure.
 */
#pragma once

#include "base/span.h"

/* Whether it tells of a machine: "localhost" and a logger's level do not. */
bool kernel_line_names(struct span host);
/* "Nov 30 01:10:00 gpu07 kernel: "; *host: what that machine calls itself. grep's name of the file may stand in front. */
bool kernel_line_has_header(struct span text, struct span *host);
/* Whether it is worth a look for one, also behind a prefix. */
bool kernel_line_may_have_header(struct span text);
/* "Nov 30 01:10:00 gpu07 journal: NVRM: Xid": a program that does nothing else hands on what the kernel said. */
bool kernel_line_is_handed_on(struct span text, struct span *host);
/* "Nov 30 01:10:00 gpu07 rag-bot[3]: NVRM: Xid": any other program, which only talks of it. */
bool kernel_line_is_of_program(struct span text, struct span *host);
/* "Nov 30 01:10:00 gpu07 rag-bot[3]: Nov 30 01:10:00 gpu09 kernel: NVRM: Xid": the same of a whole line. */
bool kernel_line_is_talked_of(struct span text, struct span *host);
/* "Nov 30 01:10:00 gpu07 train[44]: …": a syslog's header of any program, and of those that stand one behind the other the last. */
bool kernel_line_is_logged(struct span text, struct span *host);
/* One of these, in front of the line or behind what launchers, collectors and loggers put there: the machine; MACHINE_OF_NOBODY: two differ. */
bool kernel_line_find(struct span text, bool (*is_header)(struct span text, struct span *host), struct span *host);
/* With what a driver tells the kernel, and no training prints, or with whom the kernel killed; nothing stands in front. */
bool kernel_line_begins(struct span text);
/* Behind what kmsg, dmesg and syslogs put in front of a kernel's words. */
struct span kernel_line_peel(struct span text);
/* It begins so there with what a signature matched in it. */
bool kernel_line_begins_message(struct span text, struct span said);
/* A header stands directly in front of that, whatever stands in front of the header: a member's name, the half of another line. */
bool kernel_line_is_headed(struct span text, struct span said, struct span *host);
/* It begins so there. */
bool kernel_line_is(struct span text);
/* The same, or one stands in quotes, or on a line of its own, in it. */
bool kernel_line_is_quoted(struct span text);
/* In it may be what accuses a machine: that, or the words of a program to which its machine failed (SPEAKER_WITNESS). */
bool kernel_line_may_accuse(struct span text);
/* The same of such a program's alone. */
bool kernel_line_may_be_witness(struct span text);
/* The one of its lines that holds what is asked for; all of it, where none does. '\r' ends a line, too: of a record's text that is read. */
struct span kernel_line_around(struct span text, struct span said);
