/*
 * Job: SQL of the statuses in which nobody is billed. Ownership and threads: text.
 */
#pragma once

/* Waiting for machines; or it had ended, and was resumed later. */
#define UNBILLED_STATUSES                                                                                              \
	"('Interrupted', 'Starting', 'Pending', 'LaunchingMLInstances', 'PreparingTrainingStack', 'Stopped',"          \
	" 'MaxRuntimeExceeded', 'MaxWaitTimeExceeded', 'Completed', 'Failed')"
