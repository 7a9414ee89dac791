// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// libcurl's variadic calls as typed C inlines, and the few Linux calls that Swift's Glibc module lacks.
// There is no logic here: everything that decides anything is written in Swift.
#pragma once

#if defined(__has_include)
#if !__has_include(<curl/curl.h>)
#error "libcurl's headers are missing. Debian and Ubuntu: apt-get install libcurl4-openssl-dev pkg-config"
#endif
#endif

#include <curl/curl.h>
#include <locale.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#if LIBCURL_VERSION_NUM < 0x075800
#error "swift-httpdns needs libcurl 7.88 or newer (package libcurl4-openssl-dev)"
#endif

#ifdef __linux__
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

// Returns the processor cores that the process may use as bits; the result is the number of bytes, or negative.
static inline long ccurl_get_affinity(void *bits, size_t count) { return syscall(SYS_sched_getaffinity, 0, count, bits); }
#endif

typedef size_t (*ccurl_data_function)(char *, size_t, size_t, void *);
typedef int (*ccurl_prerequest_function)(void *, char *, char *, int, int);
typedef int (*ccurl_resolver_start_function)(void *, void *, void *);
typedef int (*ccurl_close_socket_function)(void *, curl_socket_t);
typedef curl_socket_t (*ccurl_open_socket_function)(void *, curlsocktype, struct curl_sockaddr *);
typedef CURLcode (*ccurl_tls_context_function)(CURL *, void *, void *);
typedef int (*ccurl_debug_function)(CURL *, curl_infotype, char *, size_t, void *);
typedef int (*ccurl_progress_function)(void *, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
typedef int (*ccurl_socket_function)(CURL *, curl_socket_t, int, void *, void *);
typedef int (*ccurl_timer_function)(CURLM *, long, void *);

static inline CURLcode ccurl_set_long(CURL *handle, CURLoption option, long value) { return curl_easy_setopt(handle, option, value); }
static inline CURLcode ccurl_set_offset(CURL *handle, CURLoption option, curl_off_t value) { return curl_easy_setopt(handle, option, value); }
static inline CURLcode ccurl_set_string(CURL *handle, CURLoption option, const char *value) { return curl_easy_setopt(handle, option, value); }
static inline CURLcode ccurl_set_pointer(CURL *handle, CURLoption option, void *value) { return curl_easy_setopt(handle, option, value); }
// The locks of a share, the second one for its sessions, and whether libcurl has looked for a session or put one there.
struct ccurl_session_locks {
    pthread_mutex_t mutexes[2];
    bool used;
};

static inline void ccurl_lock_sessions(CURL *handle, curl_lock_data data, curl_lock_access access, void *pointer) {
    struct ccurl_session_locks *locks = (struct ccurl_session_locks *)pointer;
    (void)handle;
    (void)access;
    pthread_mutex_lock(&locks->mutexes[data == CURL_LOCK_DATA_SSL_SESSION]);
    if (data == CURL_LOCK_DATA_SSL_SESSION) __atomic_store_n(&locks->used, true, __ATOMIC_RELAXED);
}

static inline void ccurl_unlock_sessions(CURL *handle, curl_lock_data data, void *pointer) {
    struct ccurl_session_locks *locks = (struct ccurl_session_locks *)pointer;
    (void)handle;
    pthread_mutex_unlock(&locks->mutexes[data == CURL_LOCK_DATA_SSL_SESSION]);
}

static inline void ccurl_init_session_locks(struct ccurl_session_locks *locks) {
    pthread_mutex_init(&locks->mutexes[0], NULL);
    pthread_mutex_init(&locks->mutexes[1], NULL);
    locks->used = false;
}

static inline void ccurl_destroy_session_locks(struct ccurl_session_locks *locks) {
    pthread_mutex_destroy(&locks->mutexes[0]);
    pthread_mutex_destroy(&locks->mutexes[1]);
}

static inline bool ccurl_sessions_used(struct ccurl_session_locks *locks) { return __atomic_load_n(&locks->used, __ATOMIC_RELAXED); }
static inline void ccurl_note_sessions_used(struct ccurl_session_locks *locks) { __atomic_store_n(&locks->used, true, __ATOMIC_RELAXED); }

// The locks must outlive the share.
static inline CURLSH *ccurl_share_sessions(struct ccurl_session_locks *locks) {
    CURLSH *share = curl_share_init();
    if (share) {
        curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
        curl_share_setopt(share, CURLSHOPT_LOCKFUNC, ccurl_lock_sessions);
        curl_share_setopt(share, CURLSHOPT_UNLOCKFUNC, ccurl_unlock_sessions);
        curl_share_setopt(share, CURLSHOPT_USERDATA, locks);
    }
    return share;
}
// A share with a pool of connections of its own. One thread uses it.
static inline CURLSH *ccurl_share_connections(void) {
    CURLSH *share = curl_share_init();
    if (share) curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);
    return share;
}
static inline CURLcode ccurl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) { return curl_easy_setopt(handle, option, value); }
static inline CURLcode ccurl_set_data_function(CURL *handle, CURLoption option, ccurl_data_function value) { return curl_easy_setopt(handle, option, value); }
static inline CURLcode ccurl_set_prerequest_function(CURL *handle, ccurl_prerequest_function value) { return curl_easy_setopt(handle, CURLOPT_PREREQFUNCTION, value); }
static inline CURLcode ccurl_set_resolver_start_function(CURL *handle, ccurl_resolver_start_function value) { return curl_easy_setopt(handle, CURLOPT_RESOLVER_START_FUNCTION, value); }
static inline CURLcode ccurl_set_close_socket_function(CURL *handle, ccurl_close_socket_function value) { return curl_easy_setopt(handle, CURLOPT_CLOSESOCKETFUNCTION, value); }
static inline CURLcode ccurl_set_tls_context_function(CURL *handle, ccurl_tls_context_function value) { return curl_easy_setopt(handle, CURLOPT_SSL_CTX_FUNCTION, value); }
static inline CURLcode ccurl_set_open_socket_function(CURL *handle, ccurl_open_socket_function value) { return curl_easy_setopt(handle, CURLOPT_OPENSOCKETFUNCTION, value); }
static inline CURLcode ccurl_set_progress_function(CURL *handle, ccurl_progress_function value) { return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, value); }
static inline CURLcode ccurl_set_debug_function(CURL *handle, ccurl_debug_function value) { return curl_easy_setopt(handle, CURLOPT_DEBUGFUNCTION, value); }
// libcurl keeps the pointer: the bytes must outlive every transfer and connection of the handle.
static inline CURLcode ccurl_set_blob(CURL *handle, CURLoption option, const void *bytes, size_t count) {
  struct curl_blob blob = { (void *)bytes, count, CURL_BLOB_NOCOPY };
  return curl_easy_setopt(handle, option, &blob);
}

// A file without a name, whose content is in memory (memfd_create(2)); -1 when the system has none.
static inline int ccurl_memory_file(const char *name) { return (int)syscall(SYS_memfd_create, name, 1U /* MFD_CLOEXEC */); }

static inline CURLcode ccurl_get_long(CURL *handle, CURLINFO info, long *value) { return curl_easy_getinfo(handle, info, value); }
static inline CURLcode ccurl_get_offset(CURL *handle, CURLINFO info, curl_off_t *value) { return curl_easy_getinfo(handle, info, value); }
static inline CURLcode ccurl_get_socket(CURL *handle, CURLINFO info, curl_socket_t *value) { return curl_easy_getinfo(handle, info, value); }
static inline CURLcode ccurl_get_string(CURL *handle, CURLINFO info, const char **value) { return curl_easy_getinfo(handle, info, (char **)value); }
static inline CURLcode ccurl_get_pointer(CURL *handle, CURLINFO info, void **value) { return curl_easy_getinfo(handle, info, value); }
// The SSL object of the connection that the transfer has, where libcurl's TLS is OpenSSL.
static inline void *ccurl_get_openssl(CURL *handle) {
  struct curl_tlssessioninfo *info = NULL;
  if(curl_easy_getinfo(handle, CURLINFO_TLS_SSL_PTR, &info) || !info) return NULL;
  return info->backend == CURLSSLBACKEND_OPENSSL ? info->internals : NULL;
}
static inline CURLcode ccurl_get_certificates(CURL *handle, CURLINFO info, struct curl_certinfo **value) { return curl_easy_getinfo(handle, info, value); }

static inline CURLMcode ccurl_multi_set_long(CURLM *multi, CURLMoption option, long value) { return curl_multi_setopt(multi, option, value); }
static inline CURLMcode ccurl_multi_set_pointer(CURLM *multi, CURLMoption option, void *value) { return curl_multi_setopt(multi, option, value); }
static inline CURLMcode ccurl_multi_set_socket_function(CURLM *multi, ccurl_socket_function value) { return curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, value); }
static inline CURLMcode ccurl_multi_set_timer_function(CURLM *multi, ccurl_timer_function value) { return curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, value); }

// The next finished transfer, or NULL. CURLMsg holds a union that Swift cannot name, so it is handed over field by field.
static inline CURL *ccurl_next_finished(CURLM *multi, CURLcode *result) {
  int left;
  CURLMsg *message;
  while((message = curl_multi_info_read(multi, &left)))
    if(message->msg == CURLMSG_DONE) {
      *result = message->data.result;
      return message->easy_handle;
    }
  return NULL;
}
