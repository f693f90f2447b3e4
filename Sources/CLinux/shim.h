// Glibc's own module leaves these out; pthread_setname_np and sched_getaffinity need the extension macro.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
