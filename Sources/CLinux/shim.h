// Glibc's own module leaves these out; pthread_setname_np needs the extension macro.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
