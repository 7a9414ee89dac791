// Proves that a process never asked the system resolver: every look-up of something that is not already an address is
// written to the file in TRIPWIRE_LOG and refused.
//
//   cc -shared -fPIC -O2 -o tripwire.so tripwire.c
//   TRIPWIRE_LOG=FILE LD_PRELOAD=./tripwire.so PROGRAM
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_literal(const char *name) {
  struct in6_addr address;
  char without_zone[64];
  const char *percent = strchr(name, '%'); // fe80::1%eth0
  if(percent && (size_t)(percent - name) < sizeof without_zone) {
    memcpy(without_zone, name, (size_t)(percent - name));
    without_zone[percent - name] = 0;
    name = without_zone;
  }
  return inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1;
}

// Whether the look-up has to be refused. One write per line, so that threads and children do not mix theirs.
static int trips(const char *function, const char *name) {
  if(!name || is_literal(name))
    return 0;
  char line[400];
  int length = snprintf(line, sizeof line, "%s %s\n", function, name);
  if(length >= (int)sizeof line)
    length = sizeof line - 1;
  const char *log = getenv("TRIPWIRE_LOG");
  int file = log ? open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666) : STDERR_FILENO;
  // A tripwire that cannot be heard must not look like silence.
  if(file < 0 || write(file, line, (size_t)length) != length)
    abort();
  if(file != STDERR_FILENO)
    close(file);
  return 1;
}

#define NEXT(function)                                                      \
  static __typeof__(&function) next;                                        \
  if(!next)                                                                 \
    next = (__typeof__(&function))dlsym(RTLD_NEXT, #function)

int getaddrinfo(const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict result) {
  NEXT(getaddrinfo);
  return trips("getaddrinfo", name) ? EAI_FAIL : next(name, service, hints, result);
}

int getaddrinfo_a(int mode, struct gaicb *list[restrict], int count, struct sigevent *restrict event) {
  NEXT(getaddrinfo_a);
  for(int index = 0; index < count; index++)
    if(list[index] && trips("getaddrinfo_a", list[index]->ar_name))
      return EAI_FAIL;
  return next(mode, list, count, event);
}

struct hostent *gethostbyname(const char *name) {
  NEXT(gethostbyname);
  if(!trips("gethostbyname", name))
    return next(name);
  h_errno = NO_RECOVERY;
  return NULL;
}

struct hostent *gethostbyname2(const char *name, int family) {
  NEXT(gethostbyname2);
  if(!trips("gethostbyname2", name))
    return next(name, family);
  h_errno = NO_RECOVERY;
  return NULL;
}

int gethostbyname_r(const char *restrict name, struct hostent *restrict entry, char *restrict buffer, size_t length,
                    struct hostent **restrict result, int *restrict error) {
  NEXT(gethostbyname_r);
  if(!trips("gethostbyname_r", name))
    return next(name, entry, buffer, length, result, error);
  *result = NULL;
  *error = NO_RECOVERY;
  return 0;
}

int gethostbyname2_r(const char *restrict name, int family, struct hostent *restrict entry, char *restrict buffer,
                     size_t length, struct hostent **restrict result, int *restrict error) {
  NEXT(gethostbyname2_r);
  if(!trips("gethostbyname2_r", name))
    return next(name, family, entry, buffer, length, result, error);
  *result = NULL;
  *error = NO_RECOVERY;
  return 0;
}
