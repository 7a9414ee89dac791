// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Proves that a process never asked the system resolver, nor a name server by itself: every look-up of something that is
// not already an address, and every connection or packet to port 53, is written to the file in TRIPWIRE_LOG and refused.
// (What the C library sends to name servers does not pass here; it comes of the look-ups, which do.)
//
//   cc -shared -fPIC -O2 -o tripwire.so tripwire.c
//   TRIPWIRE_LOG=FILE LD_PRELOAD=./tripwire.so PROGRAM
//
// With TRIPWIRE_SOCKETS=1 every socket that the program opens is written there too, and not refused.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
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

// One write per line, so that threads and children do not mix theirs.
static void write_down(const char *function, const char *name) {
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
}

// Whether the look-up has to be refused.
static int trips(const char *function, const char *name) {
  if(!name || is_literal(name))
    return 0;
  write_down(function, name);
  return 1;
}

// Whether the address is a name server's, which has to be refused.
static int trips_at(const char *function, const void *address) {
  char text[INET6_ADDRSTRLEN] = "";
  in_port_t port = 0;
  if(address && ((const struct sockaddr *)address)->sa_family == AF_INET) {
    const struct sockaddr_in *v4 = address;
    port = v4->sin_port;
    inet_ntop(AF_INET, &v4->sin_addr, text, sizeof text);
  } else if(address && ((const struct sockaddr *)address)->sa_family == AF_INET6) {
    const struct sockaddr_in6 *v6 = address;
    port = v6->sin6_port;
    inet_ntop(AF_INET6, &v6->sin6_addr, text, sizeof text);
  }
  if(port != htons(53))
    return 0;
  char name[INET6_ADDRSTRLEN + 8];
  snprintf(name, sizeof name, "%s port 53", text);
  write_down(function, name);
  errno = ECONNREFUSED;
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

int socket(int domain, int type, int protocol) {
  NEXT(socket);
  if(getenv("TRIPWIRE_SOCKETS"))
    write_down("socket", domain == AF_INET ? "IPv4" : domain == AF_INET6 ? "IPv6" : "other");
  return next(domain, type, protocol);
}

// The C library declares these with a union of all address types, where the compiler is GNU C.
int connect(int socket, __CONST_SOCKADDR_ARG address, socklen_t length) {
  NEXT(connect);
  return trips_at("connect", *(const void *const *)&address) ? -1 : next(socket, address, length);
}

ssize_t sendto(int socket, const void *bytes, size_t count, int flags, __CONST_SOCKADDR_ARG address,
               socklen_t length) {
  NEXT(sendto);
  return trips_at("sendto", *(const void *const *)&address) ? -1 : next(socket, bytes, count, flags, address, length);
}

ssize_t sendmsg(int socket, const struct msghdr *message, int flags) {
  NEXT(sendmsg);
  return trips_at("sendmsg", message->msg_name) ? -1 : next(socket, message, flags);
}

int sendmmsg(int socket, struct mmsghdr *messages, unsigned int count, int flags) {
  NEXT(sendmmsg);
  for(unsigned int index = 0; index < count; index++)
    if(trips_at("sendmmsg", messages[index].msg_hdr.msg_name))
      return -1;
  return next(socket, messages, count, flags);
}
