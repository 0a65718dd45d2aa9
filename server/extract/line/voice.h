/*
 * Job: who says what a signature found in a line, and whether it says so or is only talked of: the one rule by which a line accuses a machine.
 * Ownership: spans into the line. Threads: any. Pure.
 *
 * A fault is charged to a machine only where the shape of the line proves that the kernel, the driver, the check or the program printed it as a
 * message of its own (own_line.h). A new carrier of lines is a row of tests/unit/extract/voice_test.c.
 */
#pragma once

#include "base/span.h"

/* Whose words they are. */
enum speaker {
	SPEAKER_KERNEL, /* words that others use, too: the line must be the kernel's for certain (kernel_line.h) */
	SPEAKER_DRIVER, /* what drivers tell the kernel, and whom the kernel killed */
	SPEAKER_CHECK, /* of a machine: dcgmi, nvidia-smi */
	SPEAKER_WITNESS, /* a program to which its machine failed, or Slurm of its nodes */
	SPEAKER_PROGRAM, /* of its own failure */
	SPEAKER_TRAINER, /* of a checkpoint that it saved */
	SPEAKERS
};

enum voice {
	VOICE_QUOTE, /* it is quoted, and nothing happened */
	VOICE_TALK, /* it may have happened, and not here: an incident at most, and nobody is charged */
	VOICE_OWN
};

/* Driver's words are known by themselves: of what is no kernel's, and no check's. */
bool voice_is_drivers(struct span said);
/* said: what in the text a signature matched. */
enum voice voice_of(enum speaker speaker, struct span text, struct span said);
