// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Lets a process hear what the test says from the system resolver, and nothing else: names in SYSTEM_ANSWERS
// (`name=address,address;name=address`) have those addresses, all others do not exist. The real one is never asked.
//
//   cc -shared -fPIC -O2 -o system-answers.so system-answers.c -ldl
//   SYSTEM_ANSWERS='img.shop.test=127.0.0.5' LD_PRELOAD=./system-answers.so PROGRAM
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

typedef int look_up(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static int is_literal(const char *name) {
  struct in6_addr address;
  return inet_pton(AF_INET, name, &address) == 1 || inet_pton(AF_INET6, name, &address) == 1;
}

// The addresses of a name of this length, as written; NULL when there are none.
static char *answers(const char *name, size_t length) {
  const char *rules = getenv("SYSTEM_ANSWERS");
  for(const char *rule = rules; rule && *rule; rule = strchr(rule, ';') ? strchr(rule, ';') + 1 : NULL)
    if(strncasecmp(rule, name, length) == 0 && rule[length] == '=')
      return strndup(rule + length + 1, strcspn(rule + length + 1, ";"));
  return NULL;
}

int getaddrinfo(const char *restrict name, const char *restrict service, const struct addrinfo *restrict hints,
                struct addrinfo **restrict result) {
  static look_up *next;
  if(!next)
    next = (look_up *)dlsym(RTLD_NEXT, "getaddrinfo");
  if(!name || is_literal(name))
    return next(name, service, hints, result);
  // A rule with a final dot holds for the name with one, which has no search list; the others hold for both.
  size_t length = strlen(name);
  char *list = answers(name, length);
  if(!list && length > 0 && name[length - 1] == '.')
    list = answers(name, length - 1);
  if(!list)
    return EAI_NONAME;
  struct addrinfo numeric = {0};
  if(hints)
    numeric = *hints;
  numeric.ai_flags = (numeric.ai_flags | AI_NUMERICHOST) & ~(AI_ADDRCONFIG | AI_CANONNAME);
  struct addrinfo *first = NULL, **end = &first;
  char *rest = NULL;
  for(char *address = strtok_r(list, ",", &rest); address; address = strtok_r(NULL, ",", &rest)) {
    struct addrinfo *one = NULL;
    // An address of a family that was not asked for is left out.
    if(next(address, service, &numeric, &one) == 0 && one) {
      *end = one;
      while(*end)
        end = &(*end)->ai_next;
    }
  }
  free(list);
  if(!first)
    return EAI_NODATA;
  *result = first;
  return 0;
}
