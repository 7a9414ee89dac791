// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// System calls of the runner's own child processes, which Swift cannot import: they are variadic or macros.
#ifndef CHILD_PROCESS_H
#define CHILD_PROCESS_H

#include <sys/types.h>

// Lets the kernel kill this process when its parent ends, however that ends. Ends the process when the parent is gone already.
void child_process_end_with(pid_t parent);

// Computes without end on one core, in the scheduling class SCHED_IDLE: only while nothing else wants the core.
// Returns only when the system refuses, with errno set.
void child_process_keep_busy(int core);

#endif
