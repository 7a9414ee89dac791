// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// For SCHED_IDLE and CPU_SET.
#define _GNU_SOURCE

#include "ChildProcess.h"

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

void child_process_end_with(pid_t parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    // The parent may have ended before the call, and then no signal comes.
    if (getppid() != parent) {
        _exit(1);
    }
}

void child_process_keep_busy(int core) {
    struct sched_param parameters = {.sched_priority = 0};
    cpu_set_t cores;
    CPU_ZERO(&cores);
    CPU_SET(core, &cores);
    if (sched_setaffinity(0, sizeof cores, &cores) || sched_setscheduler(0, SCHED_IDLE, &parameters)) {
        return;
    }
    // No pause instruction: a hypervisor takes the processor away from a guest that executes many of them.
    for (volatile unsigned long turns = 0;; turns++) {
    }
}
