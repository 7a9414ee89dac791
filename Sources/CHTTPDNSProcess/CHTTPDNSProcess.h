// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// System calls of Linux that Swift cannot call: variadic ones, and those that glibc declares for _GNU_SOURCE only.

#ifndef CHTTPDNSProcess_h
#define CHTTPDNSProcess_h

#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>

// The constants of <linux/sched.h>, <linux/mount.h> and <fcntl.h>, which are part of the kernel's interface.
static const int chttpdns_new_mounts = 0x00020000;
static const int chttpdns_new_user = 0x10000000;
static const unsigned long chttpdns_bind = 4096;
static const unsigned long chttpdns_recursive = 16384;
static const unsigned long chttpdns_slave = 1 << 19;
static const int chttpdns_path_only = 010000000;

// The calls return 0, or -1 with the error in errno.

static inline int chttpdns_unshare(int flags) { return (int)syscall(SYS_unshare, flags); }

static inline int chttpdns_mount(const char *source, const char *target, const char *type, unsigned long flags) {
    return (int)syscall(SYS_mount, source, target, type, flags, (void *)0);
}

// The signal that this process gets when the thread that started it ends (PR_SET_PDEATHSIG, prctl(2)).
static inline int chttpdns_set_parent_death_signal(int signal) { return (int)syscall(SYS_prctl, 1, signal, 0, 0, 0); }
#endif

#endif
